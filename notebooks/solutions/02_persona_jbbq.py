# Solutions to the exercises of notebook 02, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.

# %% [markdown]
# ## Exercise 1: one log, two denominators
#
# 200 asked less 50 out of choice leaves 150 valid answers. 120 / 150 = .80 is the paper's accuracy,
# 120 / 200 = .60 counts an answer out of choice as wrong. 50 / 200 = .25 is the rate out of choice.
# A report that prints .80 alone hides a quarter of what happened.

# %%
my_shares = [120 / 150, 120 / 200, 50 / 200]

# %% [markdown]
# ## Exercise 2: Diff-bias in a few lines
#
# None is out of choice and leaves both counts. Unknown stays in the denominator. Without a valid
# answer there is no score: not 0, which would read as "no bias".


# %%
def my_diff_bias(roles):
    valid = [role for role in roles if role is not None]
    if not valid:
        return None
    return (valid.count("biased") - valid.count("counter_biased")) / len(valid)


# %% [markdown]
# ## Exercise 3: what falling accuracy shows
#
# Accuracy fell by 70 points, so the persona made the model name a person in 80 of 100 silent
# passages. A Diff-bias of +3 says that 41.5 of these name the person of the stereotype and 38.5
# the other one. A strong stereotype that had been held back would have moved Diff-bias up towards
# its bound of 80. Nor has the model become fairer: it now answers where it cannot know.

# %%
my_answer = "a"

# %% [markdown]
# ## Exercise 4: the question turns the stereotype round
#
# The stereotype says that old people do not know their way around phones. Asked who *does*, it
# answers: the young man. By polarity he is the biased option. The literal reading calls the target
# of the stereotype, the old man, biased under both questions; so a lean to the stereotype counts
# once as plus and once as minus, and cancels.

# %%
my_answer = "c"

# %% [markdown]
# ## Exercise 5: choosing by content
#
# What a place adds is taken off, then the highest value wins. With a prior of zeros this is the
# letter that the model would have written.


# %%
def my_by_content(log_p, prior):
    content = [value - added for value, added in zip(log_p, prior, strict=True)]
    return content.index(max(content))


# %% [markdown]
# ## Exercise 6: the smallest p of a category
#
# Ten templates can be swapped in 2 ** 10 = 1024 ways. If all ten changes point the same way, only
# the observed arrangement and its mirror image are as extreme: p = 2 / 1024. Holm multiplies the
# smallest of five p by five: 10 / 1024 = .0098. With five templates it would be 10 / 32 = .31, and
# nothing could ever be found.

# %%
my_p = 5 * 2 / 1024
