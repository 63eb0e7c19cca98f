# Solutions to the exercises of notebook 04, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.

# %% [markdown]
# ## Exercise 1: always B
#
# In order "bn" the neutral reason is B, in order "nb" it is A, and every case stands in both as
# often: accuracy .5. In every case the two orders name different reasons, so the variation rate
# counted on content is 1. The letter never changes: counted on letters the rate is 0, although
# nothing has been read.

# %%
my_rates = [0.5, 1.0, 0.0]

# %% [markdown]
# ## Exercise 2: the share of neutral reasons
#
# First leave out what cannot be read, then look up what the letter means in its order. A pattern
# that takes any lone a or b of a text would read the article in "B is a good answer" as option A.


# %%
def my_share(answers):
    neutral = {"nb": "A", "bn": "B"}
    valid = [letter == neutral[order] for order, letter in answers if letter is not None]
    return sum(valid) / len(valid) if valid else None


# %% [markdown]
# ## Exercise 3: one answer that cannot be read
#
# The seven valid answers name the same reason: the case does not vary. That one answer is missing
# is told apart (the case is incomplete), and never filled in. Had the model answered every second
# prompt only, far fewer differences could have been seen: so look at the count, too.

# %%
my_answer = "b"

# %% [markdown]
# ## Exercise 4: both orders averaged
#
# With P(A) .9 in both orders the model likes the letter, and the mean is exactly one half. With .9
# and .2 it likes the reason: .9 and .8, mean .85.


# %%
def my_mean(a_where_neutral_is_a, a_where_neutral_is_b):
    return (a_where_neutral_is_a + (1 - a_where_neutral_is_b)) / 2


# %% [markdown]
# ## Exercise 5: a score that a rule reaches, too
#
# A model that had learnt nothing but "take the reason without the name of the group" would score 25
# of 27. A score of 24 therefore does not tell the two apart, however far it lies above chance. What
# helps are cases in which both reasons name the group, or a comparison on exactly these cases.

# %%
my_answer = "c"

# %% [markdown]
# ## Exercise 6: two tests, two p
#
# If a model decides once a case, its eight answers are one piece of evidence. The chi-square test
# counts them as eight, and finds differences where there are none: in the stored simulations far
# more often than in one study of twenty. The test that exchanges the models case by case keeps its
# level. That it finds nothing is no proof of equality: 27 cases find large differences only.

# %%
my_answer = "a"
