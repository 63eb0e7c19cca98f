# Solutions to the exercises of notebook 00, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.

# %% [markdown]
# ## Exercise 1: one log, two accuracies
#
# 200 items were asked, 160 answers could be read, 120 were right: 120 / 160 = .75 of the readable
# ones, 120 / 200 = .60 of all. Neither is wrong; a rate without its denominator says little.

# %%
my_accuracies = [0.75, 0.60]

# %% [markdown]
# ## Exercise 2: what one half means
#
# Notebook 04 offers two reasons, so lots choose the neutral one in half of the cases. Alpha is no
# share, and a judge of 03 has three verdicts.

# %%
my_answer = "c"

# %% [markdown]
# ## Exercise 3: twenty tests
#
# 1 - .95 ** 20 = .6415: among twenty tests of nothing, at least one says "significant" in about two
# of three studies.

# %%
my_chance = 0.6415

# %% [markdown]
# ## Exercise 4: a test that cries wolf
#
# The chi-square test takes 216 answers for 216 witnesses, but eight variants of a case are nearly
# one. The first picture of the section shows how often it finds a difference between equal models.
# So its p of .01 says little; an exchange of the two models over whole cases keeps its level.

# %%
my_answer = "b"

# %% [markdown]
# ## Exercise 5: coverage
#
# Only studies that have an interval count. Their share belongs beside the coverage.


# %%
def my_coverage(intervals, truth):
    given = [one for one in intervals if one is not None]
    return sum(low <= truth <= high for low, high in given) / len(given)


# %% [markdown]
# ## Exercise 6: can it be printed?
#
# The counts next to the printed share are tried: if one of them rounds to the figure, it can be.


# %%
def my_possible(percent, n):
    near = round(percent / 100 * n)
    return any(round(100 * count / n, 1) == percent for count in (near - 1, near, near + 1))
