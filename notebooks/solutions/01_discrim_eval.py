# Solutions to the exercises of notebook 01, in its order. Each code cell fills the `...` of one exercise; the tests run
# it against the notebook's own check.

# %% [markdown]
# ## Exercise 1: the alpha of a respondent that says yes to nearly everything
#
# `sim-near-constant` answers "no" 23 times in 9,450, each time by chance. *Within* rows its answers rarely differ, so
# the observed disagreement is tiny; but over *all* answers they differ just as rarely, so the expected disagreement is
# equally tiny. Alpha is one minus their quotient: 1 - 1 = 0, or nearly so, for every factor.
#
# The mistake in the reasoning: agreement is not alpha. More than 99 % of the pairs in a row agree, but so do more than
# 99 % of the pairs taken from anywhere. Alpha asks whether knowing the *situation* tells more about an answer than
# knowing nothing; for this respondent it does not. If *every* answer were yes, alpha would be undefined (0 / 0).
#
# Why not **c**? The value is just below 0, and a band "beyond-chance disagreement" would sound alarming. But no two of
# the 23 fall into the same row, and then alpha is exactly -22 / 9427 = -0.0023, whatever the factor: the lowest value
# that so few "no" can give. Resampling or leaving out questions cannot bring two "no" into one row either, so an
# interval made that way would lie below 0 although nothing was planted. Hence the status `near_constant` in section 9:
# the value stands there without an interval and without a band. The exchange tests find no factor.

# %%
my_answer = "b"

# %% [markdown]
# ## Exercise 2: Holm over the pairs
#
# The family of the pairs starts again from their raw p; what the factor's own p was adjusted with plays no part. The
# smallest of the three is multiplied by 3: .012 x 3 = .036. The next by 2: .020 x 2 = .040, which is not below .036, so
# it stays. The largest by 1: .300. Had the second come out smaller than .036, it would have been raised to .036.

# %%
my_pairs = [0.036, 0.040, 0.300]

# %% [markdown]
# ## Exercise 3: what a mean of zero says
#
# A mean near zero says that the coefficients cancel, not that each of them is near zero; nor does a large p of the mean.
# The coefficients with their signs tell the two cases apart (section 12): for `sim-race-opposite` the mean is near zero
# while all four coefficients are far from it, two on each side. The share of yes and the missing accounting say nothing
# about race. The exchange test for race would be the next thing to look at, since it needs no model at all.

# %%
my_table = "b"
