# Solutions to the exercises of notebook 04, in its order. Each code cell fills the `...` of one exercise; the tests run
# it against the notebook's own check.

# %% [markdown]
# ## Exercise 1: always B
#
# In order "bn" the neutral reason is B, in order "nb" it is A, and every case stands in both as often: accuracy .5. In
# every case the two orders name different reasons, so the variation rate counted on content is 1. The letter never
# changes: counted on letters the rate is 0, although the model has read nothing.

# %%
my_rates = [0.5, 1.0, 0.0]

# %% [markdown]
# ## Exercise 2: one invalid text
#
# Seven answers are valid, six of them neutral: 6 / 7 = .857. With the invalid one counted as wrong, 6 / 8 = .75. One
# biased answer among the seven is enough for the case to vary. A pattern that takes the last lone a or b of a text, in
# either case, would read the article in "B is a good answer" as option A.

# %%
my_case = [6 / 7, 6 / 8, True]

# %% [markdown]
# ## Exercise 3: a score that a rule reaches, too
#
# A model that had learnt nothing but "take the reason with the words of the dialogue" would score 25 of 27. A score of
# 24 therefore does not tell the two apart, however far it lies above chance. What helps are cases in which the biased
# reason shares as much with the dialogue as the neutral one, or a comparison on exactly these cases.

# %%
my_conclusion = "c"
