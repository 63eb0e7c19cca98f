# Solutions to the exercises of notebook 01, in its order. Each code cell fills the `...` of one exercise; the tests run
# it against the notebook's own check.

# %% [markdown]
# ## Section 13: the alpha of a respondent that says yes to nearly everything
#
# `sim-near-constant` answers "no" 23 times in 9,450, each time by chance. *Within* rows its answers rarely differ, so
# the observed disagreement is tiny; but over *all* answers they differ just as rarely, so the expected disagreement is
# equally tiny. Alpha is one minus their quotient: 1 - 1 = 0, or nearly so, for every factor.
#
# The mistake in the reasoning: agreement is not alpha. More than 99 % of the pairs in a row agree, but so do more than
# 99 % of the pairs taken from anywhere. Alpha asks whether knowing the *situation* tells more about an answer than
# knowing nothing; for this respondent it does not. If *every* answer were yes, alpha would be undefined (0 / 0).
#
# Why not **c**? Section 7 does show a value just below 0, and the band's name sounds alarming. But no two of the 23
# fall into the same row, and then alpha is exactly -22 / 9427 = -0.0023, whatever the factor: the lowest value that so
# few "no" can give. Shuffle the answers inside each question, which destroys every bias, and it comes out in half of
# the cases or more. The bootstrap interval misses that: resampling questions cannot bring two "no" into one row.
# Where one answer is very rare, trust neither the band's name nor the interval.

# %%
my_answer = "b"
