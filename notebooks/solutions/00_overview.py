# Solutions to the exercises of notebook 00, in its order. Each code cell fills the `...` of one exercise; the tests run
# it against the notebook's own check.

# %% [markdown]
# ## Exercise 1: two notebooks, two denominators
#
# Notebook 02 takes valid answers only: 120 / (200 - 40) = .75. Notebook 05 counts an answer that cannot be read as
# wrong: 120 / 200 = .60. Neither is wrong, but the two must not be compared with each other; the invalid rate, here
# 40 / 200 = .20, is what leads from one to the other.

# %%
my_accuracies = [0.75, 0.60]

# %% [markdown]
# ## Exercise 2: which percentages exist
#
# 19 of 27 is 70.37 %, printed 70.4; 20 of 27 is 74.07 %. Nothing lies between, so 71.0 % of 27 cannot be. It could be a
# mean over several runs or another n, and that is what one would ask the authors, rather than call it an error.

# %%
my_verdicts = [True, False]

# %% [markdown]
# ## Exercise 3: a p that is too small
#
# The test takes 216 answers as independent. They come from 27 cases, and the variants of a case go together, so the
# test finds a difference between equal models several times as often as its level says. That does not show that
# the models are equal: a test by cases (exchange the two models' answers case by case) is what is missing.

# %%
my_conclusion = "b"
