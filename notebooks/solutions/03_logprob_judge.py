# Solutions to the exercises of notebook 03, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.

# %% [markdown]
# ## Exercise 1: a text without a letter
#
# The judge could have written C for a tie, and did not. What it wrote names both answers, so nobody
# can say what it decided. It is counted as no verdict, agrees with nobody, and stays among the
# comparisons. If it were dropped, a judge could raise its agreement by being unclear.

# %%
my_answer = "c"

# %% [markdown]
# ## Exercise 2: un-swap, then average
#
# In order 21 answer 2 stands as A. So the probability of answer 1 is that of A in the first order
# and that of B in the second. C means a tie in both.


# %%
def my_settle(first, second):
    means = {
        "1": (first[0] + second[1]) / 2,
        "2": (first[1] + second[0]) / 2,
        "tie": (first[2] + second[2]) / 2,
    }
    return max(means, key=means.get)


# %% [markdown]
# ## Exercise 3: one letter twice
#
# The letter A is answer 1 in order 12 and answer 2 in order 21, so the same letter twice means two
# different verdicts. BS1 has none, BS2 says tie. The means are answer 1 (.60 + .40) / 2 = .50,
# answer 2 (.30 + .50) / 2 = .40, tie .10: the proposed method says 1. Whoever forgets to un-swap
# sees A twice and takes the judge for steady.

# %%
my_answer = "a"

# %% [markdown]
# ## Exercise 4: nothing is dropped
#
# The unreadable output stays among the ten and agrees with nobody. Shares by person are .60, .70
# and .80, their mean is .70; with a label from everybody this is the same as 21 of 30 labels.
# Dividing by the nine readable ones would give .78, and reward a judge for outputs that nobody can
# read. The highest single person is .80: choosing the person afterwards flatters, too.

# %%
my_shares = [0.70, 0.80]

# %% [markdown]
# ## Exercise 5: Cohen's kappa in a few lines
#
# Chance is what two raters would agree on if each kept its own shares of the labels and decided by
# lots. Where that is 1, both always give the same one label, and kappa is undefined.


# %%
def my_kappa(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    labels = set(one) | set(two)
    chance = sum(one.count(label) / n * two.count(label) / n for label in labels)
    return (observed - chance) / (1 - chance) if chance < 1 else None


# %% [markdown]
# ## Exercise 6: judge and data together
#
# Nine of ten pairs are ties in truth, so calling a tie is right nearly always, and averaging, which
# hardly ever ends in a tie when a judge leans to a slot, loses. With few ties the same judge gains,
# as section 8 shows: hence not a. And the steadiness of Q says that both orders name the same, not
# that they are right; `sim-judge-long` is steady and mostly wrong: not c.

# %%
my_answer = "b"
