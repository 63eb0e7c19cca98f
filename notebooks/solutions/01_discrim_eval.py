# Solutions to the exercises of notebook 01, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.
# Below a solution stand wrong ones: behind `wrong:` are words of the hint that the check must give.

# %% [markdown]
# ## Exercise 1: what may be compared
#
# Inside a row only the person changes. Two rows are two situations: a model may refuse a mortgage
# and grant a refund, and this says nothing about the person. All answers together mix the
# situations.

# %%
my_answer = "c"

# %% wrong: What is the same in two rows?
my_answer = "a"

# %% wrong: All answers together mix the questions.
my_answer = "b"

# %% wrong: The answer is one letter
my_answer = "the answers inside one row"

# %% [markdown]
# ## Exercise 2: alpha in a few lines
#
# First the gaps go: a value is kept if it is not None and equals itself (nan does not). A row with
# fewer than two values has no pair, so none of its values counts. Then ordered pairs are counted,
# so that no pair is forgotten; a pair of a value with itself adds zero. In a row of m values each
# value has m - 1 others, among all n values n - 1. If all values are equal, or if no row has two
# values, there is nothing to divide by: alpha is undefined.


# %%
def by_pairs(rows):
    known = [[value for value in row if value is not None and value == value] for row in rows]
    rows = [row for row in known if len(row) >= 2]
    values = [value for row in rows for value in row]
    n = len(values)
    anywhere = sum((a - b) ** 2 for a in values for b in values)
    if anywhere == 0:
        return None
    within = sum((a - b) ** 2 / (len(row) - 1) for row in rows for a in row for b in row)
    return 1 - (within / n) / (anywhere / (n * (n - 1)))


my_alpha = by_pairs


# %% wrong: The division by (m - 1) is lacking.
def without_the_division(rows):
    known = [[value for value in row if value is not None and value == value] for row in rows]
    rows = [row for row in known if len(row) >= 2]
    values = [value for row in rows for value in row]
    n = len(values)
    anywhere = sum((a - b) ** 2 for a in values for b in values)
    if anywhere == 0:
        return None
    within = sum((a - b) ** 2 for row in rows for a in row for b in row)
    return 1 - (within / n) / (anywhere / (n * (n - 1)))


my_alpha = without_the_division


# %% wrong: you divide by n * n
def by_n_squared(rows):
    known = [[value for value in row if value is not None and value == value] for row in rows]
    rows = [row for row in known if len(row) >= 2]
    values = [value for row in rows for value in row]
    n = len(values)
    anywhere = sum((a - b) ** 2 for a in values for b in values)
    if anywhere == 0:
        return None
    within = sum((a - b) ** 2 / (len(row) - 1) for row in rows for a in row for b in row)
    return 1 - (within / n) / (anywhere / (n * n))


my_alpha = by_n_squared


# %% wrong: A missing answer is not the answer "no".
def gaps_as_zero(rows):
    rows = [[value if value is not None and value == value else 0 for value in row] for row in rows]
    values = [value for row in rows for value in row]
    n = len(values)
    anywhere = sum((a - b) ** 2 for a in values for b in values)
    if anywhere == 0:
        return None
    within = sum((a - b) ** 2 / (len(row) - 1) for row in rows for a in row for b in row)
    return 1 - (within / n) / (anywhere / (n * (n - 1)))


my_alpha = gaps_as_zero


# %% wrong: Here alpha is 0 / 0.
def one_where_undefined(rows):
    known = [[value for value in row if value is not None and value == value] for row in rows]
    rows = [row for row in known if len(row) >= 2]
    values = [value for row in rows for value in row]
    n = len(values)
    anywhere = sum((a - b) ** 2 for a in values for b in values)
    if anywhere == 0:
        return 1.0
    within = sum((a - b) ** 2 / (len(row) - 1) for row in rows for a in row for b in row)
    return 1 - (within / n) / (anywhere / (n * (n - 1)))


my_alpha = one_where_undefined


# %% wrong: first the pairs inside rows, then the pairs of all values
def two_levels_only(rows):
    known = [[value for value in row[:2] if value is not None and value == value] for row in rows]
    rows = [row for row in known if len(row) == 2]
    values = [value for row in rows for value in row]
    n = len(values)
    anywhere = sum((a - b) ** 2 for a in values for b in values)
    if anywhere == 0:
        return None
    within = 2 * sum((a - b) ** 2 for a, b in rows)
    return 1 - (within / n) / (anywhere / (n * (n - 1)))


my_alpha = two_levels_only


# %% wrong: Only rows with a gap go wrong
def of_rows_without_gaps(rows):
    known = [[value for value in row if value is not None and value == value] for row in rows]
    levels = len(rows[0])
    values = [value for row in known if len(row) >= 2 for value in row]
    n = len(values)
    within = sum((a - b) ** 2 for row in known for a in row for b in row) / (levels - 1) / n
    anywhere = sum((a - b) ** 2 for a in values for b in values) / (n * (n - 1))
    return 1 - within / anywhere if anywhere else None


my_alpha = of_rows_without_gaps

# %% [markdown]
# ## Exercise 3: the alpha of a respondent that says yes to nearly everything
#
# Inside rows its answers rarely differ, so the observed disagreement is tiny; but any two of its
# answers differ just as rarely, so the expected disagreement is equally tiny. Alpha is one minus
# their quotient: nearly 0. More than 99 % of the pairs in a row agree, but so do more than 99 % of
# all pairs. If every answer were yes, alpha would be undefined (0 / 0).
#
# Why not "far below 0"? Say that no two of the 23 "no" are in the same row. Then alpha is
# -22 / 9427 = -0.0023, the lowest value that so few "no" can give.

# %%
my_answer = "a"

# %% wrong: Alpha compares this share with chance
my_answer = "b"

# %% wrong: Can 23 answers do that?
my_answer = "c"

# %% wrong: The answer is one letter
my_answer = 0

# %% [markdown]
# ## Exercise 4: Holm in a few lines
#
# Undefined p are no tests: they are neither sorted nor counted. Of the others the smallest p is
# multiplied by the number of tests, the next by one less. The running maximum keeps the order, and
# 1 is the largest p there is. Since positions are sorted, not p, each result goes back to its own,
# also where two p are equal.


# %%
def by_steps(p):
    tests = [i for i, one in enumerate(p) if one is not None and one == one]
    adjusted = [None] * len(p)
    highest = 0.0
    for rank, i in enumerate(sorted(tests, key=lambda i: p[i])):
        highest = max(highest, min(1.0, p[i] * (len(tests) - rank)))
        adjusted[i] = highest
    return adjusted


my_holm = by_steps


# %% wrong: not capped at 1
def without_the_cap(p):
    tests = [i for i, one in enumerate(p) if one is not None and one == one]
    adjusted = [None] * len(p)
    highest = 0.0
    for rank, i in enumerate(sorted(tests, key=lambda i: p[i])):
        highest = max(highest, p[i] * (len(tests) - rank))
        adjusted[i] = highest
    return adjusted


my_holm = without_the_cap


# %% wrong: The running maximum is lacking.
def without_the_maximum(p):
    tests = [i for i, one in enumerate(p) if one is not None and one == one]
    adjusted = [None] * len(p)
    for rank, i in enumerate(sorted(tests, key=lambda i: p[i])):
        adjusted[i] = min(1.0, p[i] * (len(tests) - rank))
    return adjusted


my_holm = without_the_maximum


# %% wrong: not in the order that was given
def sorted_result(p):
    tests = sorted(one for one in p if one is not None and one == one)
    adjusted = []
    for rank, one in enumerate(tests):
        adjusted.append(max([*adjusted, min(1.0, one * (len(tests) - rank))]))
    return adjusted + [None] * (len(p) - len(tests))


my_holm = sorted_result


# %% wrong: This is Bonferroni's method
def bonferroni(p):
    tests = [one for one in p if one is not None and one == one]
    return [min(1.0, one * len(tests)) if one in tests else None for one in p]


my_holm = bonferroni


# %% wrong: Without a p, was there a test?
def all_are_tests(p):
    tests = [i for i, one in enumerate(p) if one is not None and one == one]
    adjusted = [None] * len(p)
    highest = 0.0
    for rank, i in enumerate(sorted(tests, key=lambda i: p[i])):
        highest = max(highest, min(1.0, p[i] * (len(p) - rank)))
        adjusted[i] = highest
    return adjusted


my_holm = all_are_tests

# %% [markdown]
# ## Exercise 5: Holm over the pairs
#
# The pairs are a family of their own and start from their raw p; how the p of the factor was
# adjusted does not matter. .012 x 3 = .036; .020 x 2 = .040, which is not below .036; .300 x 1 =
# .300.

# %%
my_pairs = [0.036, 0.040, 0.300]

# %% wrong: This is Bonferroni's method
my_pairs = [0.036, 0.060, 0.900]

# %% wrong: These are the raw p.
my_pairs = [0.012, 0.020, 0.300]

# %% wrong: Benjamini and Hochberg
my_pairs = [0.036, 0.030, 0.300]

# %% wrong: The answer is 3 numbers, in order, not 1.
my_pairs = 0.036

# %% [markdown]
# ## Exercise 6: what a mean of zero says
#
# If a mean is near zero, the coefficients may cancel, or each of them may be near zero; nor does a
# large p of the mean tell which. The coefficients with their signs tell the two cases apart: for
# `sim-race-opposite` the mean is near zero while all four are far from it, two on each side.

# %%
my_answer = "b"

# %% wrong: What can a mean hide?
my_answer = "a"

# %% wrong: they do not show two effects in opposite directions
my_answer = "c"

# %% wrong: Options: a, b, c.
my_answer = "d"
