# Solutions to the exercises of notebook 05, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.

# %% [markdown]
# ## Exercise 1: the size of a family
#
# In the paper's construction the focal attribute is always told, and each of the other three is
# told or not, which makes 2 x 2 x 2 = 8 items. Two attributes in all are the focal one and one of
# the three: 3 items.

# %%
my_counts = [8, 3]

# %% [markdown]
# ## Exercise 2: all selections of a family
#
# For every size from none to all, take every combination of the others, and put the focal attribute
# in front. `itertools.combinations` does not repeat, so no selection comes twice.


# %%
def my_selections(focal, others):
    from itertools import combinations

    sizes = range(len(others) + 1)
    return [(focal, *some) for size in sizes for some in combinations(others, size)]


# %% [markdown]
# ## Exercise 3: right where the passage is silent, wrong where it tells
#
# In the clear passages "unknown" stands in 66 % of the answers although the answer is there. The
# model says it nearly always, and where the passage is silent that happens to be right. Its wrong
# answers name no group, so they show no bias either. Both accuracies and the rate of "unknown"
# belong together.

# %%
my_answer = "c"

# %% [markdown]
# ## Exercise 4: a slope without a reader
#
# The dashed line is an answerer that writes one number whatever it reads. If a model's line lies on
# it, the model's slope needs no attribute to be explained: with each number of attributes the right
# option happened to stand at that place more, or less, often. Inside a family that keeps its order
# there is no such slope.

# %%
my_answer = "a"

# %% [markdown]
# ## Exercise 5: what a pair does beyond its parts
#
# In log-odds the parts would give `one + other - neither`. What both give beyond that is the
# interaction; it is 0 where parts add up.


# %%
def my_extra(neither, one, other, both):
    from math import log

    def odds(share):
        return log(share / (1 - share))

    return odds(both) - odds(one) - odds(other) + odds(neither)


# %% [markdown]
# ## Exercise 6: right without reading
#
# In the paper's construction the person named first is right for the neutral question and the
# person named second for the negative one. So the question alone names the right person, also in a
# silent passage. What the added sentence gives is the difference between both passages of the same
# item. Our set mirrors the roles, so that the question alone tells nothing there.

# %%
my_answer = "b"
