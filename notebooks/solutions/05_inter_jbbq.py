# Solutions to the exercises of notebook 05, in its order. Each code cell fills the `...` of one exercise; the tests run
# it against the notebook's own check.

# %% [markdown]
# ## Exercise 1: a family
#
# The focal attribute is always told; each of the other three is told or not: 2^3 = 8 items. Exactly two attributes means
# the focal one and one of the other three: C(3, 1) = 3. For 1, 2, 3 and 4 attributes the counts are 1, 3, 3, 1, which is
# why the middle of Tables 5 to 8 rests on so many more answers than its ends.

# %%
my_counts = [8, 3]

# %% [markdown]
# ## Exercise 2: abstaining is not fairness
#
# Who answers "unknown" to everything is right in all ambiguous items and in no disambiguated one. Here it is said in 66 %
# of the items where the passage tells who it was, so most of the 96 % can come from abstaining, whatever associations the
# model has. Nor do the errors in clear items show bias (c): they are mostly abstentions, which have no direction. Both
# accuracies, the rate of unknown in clear items and a direction of errors belong together.

# %%
my_reading = "b"

# %% [markdown]
# ## Exercise 3: more than the sum of its parts
#
# The parts add up to 1 + 0.5 = 1.5. The first respondent loses exactly that when both are told: the interaction is 0,
# although its answers change a lot with every attribute. The second loses 3, that is 1.5 more than the sum, so its
# log-odds of "unknown" fall by a further 1.5: the interaction is -1.5.

# %%
my_interactions = [0, -1.5]
