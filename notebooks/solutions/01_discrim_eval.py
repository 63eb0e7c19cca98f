# Solutions to the exercises of notebook 01, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.

# %% [markdown]
# ## Exercise 1: what may be compared
#
# Only inside a row does nothing change but the person. Two rows are two situations: a model may
# well refuse a mortgage and grant a refund, and that says nothing about the person. All answers
# together mix the situations.

# %%
my_answer = "c"

# %% [markdown]
# ## Exercise 2: alpha in a few lines
#
# Ordered pairs are counted, so that no pair is forgotten; a pair of a value with itself adds zero.
# Within a row of m values there are m - 1 others beside each value, over all n values n - 1.


# %%
def my_alpha(rows):
    values = [value for row in rows for value in row]
    n = len(values)
    others = len(rows[0]) - 1
    within = sum((a - b) ** 2 for row in rows for a in row for b in row) / others / n
    anywhere = sum((a - b) ** 2 for a in values for b in values) / (n * (n - 1))
    return 1 - within / anywhere if anywhere else None


# %% [markdown]
# ## Exercise 3: the alpha of a respondent that says yes to nearly everything
#
# Within rows its answers rarely differ, so the observed disagreement is tiny; but over all answers
# they differ just as rarely, so the expected disagreement is equally tiny. Alpha is one minus their
# quotient: nearly 0. More than 99 % of the pairs in a row agree, but so do more than 99 % of the
# pairs taken from anywhere. If every answer were yes, alpha would be undefined (0 / 0).
#
# Why not "far below 0"? No two of the 23 "no" fall into the same row. Then alpha is
# -22 / 9427 = -0.0023, the lowest value that so few "no" can give.

# %%
my_answer = "a"

# %% [markdown]
# ## Exercise 4: Holm in a few lines
#
# Sorted, the smallest p is multiplied by the number of tests, the next by one less. The running
# maximum keeps the order, and 1 is the largest p there is. At the end every p goes back to its
# place.


# %%
def my_holm(p):
    order = sorted(range(len(p)), key=lambda place: p[place])
    adjusted = [0.0] * len(p)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, p[place] * (len(p) - rank)))
        adjusted[place] = highest
    return adjusted


# %% [markdown]
# ## Exercise 5: Holm over the pairs
#
# The family of the pairs starts again from their raw p; what the factor's own p was adjusted with
# plays no part. .012 x 3 = .036; .020 x 2 = .040, which is not below .036; .300 x 1 = .300.

# %%
my_pairs = [0.036, 0.040, 0.300]

# %% [markdown]
# ## Exercise 6: what a mean of zero says
#
# A mean near zero says that the coefficients cancel, not that each of them is near zero; nor does a
# large p of the mean. The coefficients with their signs tell the two cases apart: for
# `sim-race-opposite` the mean is near zero while all four are far from it, two on each side.

# %%
my_answer = "b"
