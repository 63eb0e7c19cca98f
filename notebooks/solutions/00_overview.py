# Solutions to the exercises of notebook 00, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.
# Below a solution stand wrong ones: behind `wrong:` are words of the hint that the check must give.

# %% [markdown]
# ## Exercise 1: one log, two accuracies
#
# 200 items were asked, 160 answers could be read, 120 were right: 120 / 160 = .75 of the readable
# ones, 120 / 200 = .60 of all. Neither is wrong; a rate without its denominator says little.

# %%
my_accuracies = [0.75, 0.60]

# %% wrong: The other way round
my_accuracies = [0.60, 0.75]

# %% wrong: One divides by the answers that could be read, the other by all that were asked.
my_accuracies = [0.75, 0.75]

# %% wrong: The answer is 2 numbers, in order, not 1.
my_accuracies = 0.75

# %% [markdown]
# ## Exercise 2: what one half means
#
# Notebook 04 offers two reasons, so a random choice is the neutral one in half of the cases. Alpha
# is no share, and a judge of 03 has three verdicts.

# %%
my_answer = "c"

# %% wrong: Alpha is no share.
my_answer = "a"

# %% wrong: Three verdicts are possible there.
my_answer = "b"

# %% wrong: Options: a, b, c.
my_answer = "d"

# %% [markdown]
# ## Exercise 3: twenty tests
#
# 1 - .95 ** 20 = .6415: among twenty tests of nothing, at least one says "significant" in about two
# of three studies.

# %%
my_chance = 0.6415

# %% wrong: Twenty times .05 counts the expected alarms
my_chance = 1.0

# %% wrong: That is the chance that none gives an alarm.
my_chance = 0.3585

# %% wrong: First find the chance that none of the twenty gives a false alarm.
my_chance = 0.05

# %% [markdown]
# ## Exercise 4: a test that cries wolf
#
# The chi-square test takes 216 answers for 216 witnesses, but eight variants of a case are nearly
# one. The first picture of the section shows how often it finds a difference between equal models.
# So its p of .01 says little; an exchange of the two models over whole cases keeps its level.

# %%
my_answer = "b"

# %% wrong: Look at the false positives of this test.
my_answer = "a"

# %% wrong: Is a test that cries wolf proof that there is no wolf?
my_answer = "c"

# %% wrong: The answer is one letter
my_answer = "no difference"

# %% [markdown]
# ## Exercise 5: coverage
#
# Only studies that have an interval count. Their share belongs beside the coverage. Both ends
# belong to an interval; where no study has one there is no coverage.


# %%
def of_given_intervals(intervals, truth):
    given = [one for one in intervals if one is not None]
    if not given:
        return None
    return sum(low <= truth <= high for low, high in given) / len(given)


my_coverage = of_given_intervals


# %% wrong: You divide by all studies.
def of_all_studies(intervals, truth):
    if not intervals:
        return None
    given = [one for one in intervals if one is not None]
    return sum(low <= truth <= high for low, high in given) / len(intervals)


my_coverage = of_all_studies


# %% wrong: Both ends belong to the interval.
def without_ends(intervals, truth):
    given = [one for one in intervals if one is not None]
    return sum(low < truth < high for low, high in given) / len(given) if given else None


my_coverage = without_ends


# %% wrong: so there is nothing to take a share of
def never_looked_at_the_number(intervals, truth):
    given = [one for one in intervals if one is not None]
    return sum(low <= truth <= high for low, high in given) / len(given)


my_coverage = never_looked_at_the_number


# %% wrong: None has no low and no high.
def none_unpacked(intervals, truth):
    return sum(low <= truth <= high for low, high in intervals) / len(intervals)


my_coverage = none_unpacked


# %% [markdown]
# ## Exercise 6: can it be printed?
#
# The counts next to the printed share are tried: if one of them rounds to the figure, it can be.


# %%
def by_near_counts(percent, n):
    near = round(percent / 100 * n)
    return any(round(100 * count / n, 1) == percent for count in (near - 1, near, near + 1))


my_possible = by_near_counts


# %% wrong: You try only the count below percent / 100 * n.
def count_below(percent, n):
    count = int(percent / 100 * n)
    return round(100 * count / n, 1) == percent


my_possible = count_below


# %% wrong: What is printed is rounded to one decimal
def before_rounding(percent, n):
    near = round(percent / 100 * n)
    return any(100 * count / n == percent for count in (near - 1, near, near + 1))


my_possible = before_rounding


# %% wrong: On paper this is right.
def as_fractions(percent, n):
    return any(round(count / n, 3) == percent / 100 for count in range(n + 1))


my_possible = as_fractions


# %% wrong: which percentage is printed for each of them
def within_half_a_count(percent, n):
    return abs(round(percent / 100 * n) - percent / 100 * n) <= 0.5


my_possible = within_half_a_count
