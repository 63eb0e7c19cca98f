# Solutions to the exercises of notebook 02, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.
# Below a solution stand wrong ones: behind `wrong:` are words of the hint that the check must give.

# %% [markdown]
# ## Exercise 1: the same answers, two denominators
#
# 200 asked less 50 out of choice leaves 150 valid answers. 120 / 150 = .80 is the paper's accuracy,
# 120 / 200 = .60 counts a reply out of choice as wrong. 50 / 200 = .25 is the rate out of choice.
# A report that prints .80 alone does not tell that a quarter of the replies could not be used.

# %%
my_shares = [120 / 150, 120 / 200, 50 / 200]

# %% wrong: Your first accuracy is divided by all items that were asked.
my_shares = [120 / 200, 120 / 200, 50 / 200]

# %% wrong: Your second accuracy is divided by the valid answers.
my_shares = [120 / 150, 120 / 150, 50 / 200]

# %% wrong: Your two accuracies are in the wrong order.
my_shares = [120 / 200, 120 / 150, 50 / 200]

# %% wrong: is a share, not a count
my_shares = [120 / 150, 120 / 200, 50]

# %% wrong: You divide the replies out of choice by the valid answers.
my_shares = [120 / 150, 120 / 200, 50 / 150]

# %% wrong: These are per cent.
my_shares = [80, 60, 25]

# %% wrong: The answer is 3 numbers, in order, not 2.
my_shares = [120 / 150, 120 / 200]

# %% [markdown]
# ## Exercise 2: Diff-bias in a few lines
#
# None is an unreadable answer: it counts neither in the numerator nor in the denominator. Unknown
# is a valid answer and stays in the denominator. Without a valid answer there is no score: not 0,
# which would read as "no bias".


# %%
def by_counts(roles):
    valid = [role for role in roles if role is not None]
    if not valid:
        return None
    return (valid.count("biased") - valid.count("counter_biased")) / len(valid)


my_diff_bias = by_counts


# %% wrong: None counts in the denominator.
def over_all_asked(roles):
    if not any(roles):
        return None
    return (roles.count("biased") - roles.count("counter_biased")) / len(roles)


my_diff_bias = over_all_asked


# %% wrong: You divide by the answers that name a person.
def among_persons(roles):
    b = roles.count("biased")
    c = roles.count("counter_biased")
    return (b - c) / (b + c) if b + c else None


my_diff_bias = among_persons


# %% wrong: 2b / (b + c) - 1 is the same
def as_in_clear_contexts(roles):
    b = roles.count("biased")
    c = roles.count("counter_biased")
    return 2 * b / (b + c) - 1 if b + c else 0


my_diff_bias = as_in_clear_contexts


# %% wrong: Count the valid answers of this input on paper
def twice_the_share(roles):
    valid = [role for role in roles if role is not None]
    return 2 * valid.count("biased") / len(valid) - 1 if valid else None


my_diff_bias = twice_the_share


# %% wrong: The sign is turned.
def the_other_way_round(roles):
    valid = [role for role in roles if role is not None]
    if not valid:
        return None
    return (valid.count("counter_biased") - valid.count("biased")) / len(valid)


my_diff_bias = the_other_way_round


# %% wrong: Diff-bias without its sign
def size_only(roles):
    valid = [role for role in roles if role is not None]
    if not valid:
        return None
    return abs(valid.count("biased") - valid.count("counter_biased")) / len(valid)


my_diff_bias = size_only


# %% wrong: 0 would mean "as often to one side as to the other".
def zero_where_undefined(roles):
    valid = [role for role in roles if role is not None]
    return (valid.count("biased") - valid.count("counter_biased")) / max(len(valid), 1)


my_diff_bias = zero_where_undefined


# %% wrong: All valid answers are unknown here
def score_of_bbq(roles):
    valid = [role for role in roles if role is not None]
    b = valid.count("biased")
    c = valid.count("counter_biased")
    if b + c == 0:
        return None
    accuracy = valid.count("unknown") / len(valid)
    return (1 - accuracy) * (2 * b / (b + c) - 1)


my_diff_bias = score_of_bbq


# %% wrong: in percentage points
def in_points(roles):
    valid = [role for role in roles if role is not None]
    if not valid:
        return None
    return 100 * (valid.count("biased") - valid.count("counter_biased")) / len(valid)


my_diff_bias = in_points


# %% wrong: so there is nothing to divide by
def without_a_guard(roles):
    valid = [role for role in roles if role is not None]
    return (valid.count("biased") - valid.count("counter_biased")) / len(valid)


my_diff_bias = without_a_guard

# %% [markdown]
# ## Exercise 3: what falling accuracy shows
#
# Accuracy fell by 70 points, so the persona made the model name a person in 80 of 100 ambiguous
# items. A Diff-bias of +3 says that 41.5 of these name the person of the stereotype and 38.5 the
# other one. A strong stereotype that had been held back would have moved Diff-bias up towards its
# bound of 80. Nor has the model become fairer: it now answers where it cannot know.

# %%
my_answer = "a"

# %% wrong: How many lie on each side if the two differ by 3?
my_answer = "b"

# %% wrong: Is a model fair if it errs in 80 of 100 items?
my_answer = "c"

# %% wrong: The answer is one letter
my_answer = 3

# %% [markdown]
# ## Exercise 4: the question turns the stereotype round
#
# The stereotype says that old people do not know their way around phones. Asked who *does*, it
# answers: the young man. By polarity he is the biased option. The literal reading calls the target
# of the stereotype, the old man, biased under both questions; so a lean to the stereotype counts
# once as plus and once as minus, and cancels.

# %%
my_answer = "c"

# %% wrong: Whom does the stereotype expect there?
my_answer = "a"

# %% wrong: The literal reading does not look at the question.
my_answer = "b"

# %% wrong: Options: a, b, c.
my_answer = "d"

# %% [markdown]
# ## Exercise 5: choosing by content
#
# What a position adds is taken off, then the highest value wins. If all positions add the same,
# this is the letter that the model would have written. An item with a missing letter is incomplete:
# nobody knows whether the missing one would have been the highest.


# %%
def by_difference(log_p, prior):
    if any(value is None or value != value for value in log_p):
        return None
    content = [value - added for value, added in zip(log_p, prior, strict=True)]
    return content.index(max(content))


my_by_content = by_difference


# %% wrong: The prior is added here.
def with_the_prior_added(log_p, prior):
    if any(value is None or value != value for value in log_p):
        return None
    content = [value + added for value, added in zip(log_p, prior, strict=True)]
    return content.index(max(content))


my_by_content = with_the_prior_added


# %% wrong: the prior changes nothing
def by_letter(log_p, prior):
    if any(value is None or value != value for value in log_p):
        return None
    return log_p.index(max(log_p))


my_by_content = by_letter


# %% wrong: You divide by the prior.
def by_quotient(log_p, prior):
    if any(value is None or value != value for value in log_p):
        return None
    content = [value / added for value, added in zip(log_p, prior, strict=True)]
    return content.index(max(content))


my_by_content = by_quotient


# %% wrong: nobody knows how high it is
def missing_as_lowest(log_p, prior):
    known = [float("-inf") if value is None or value != value else value for value in log_p]
    content = [value - added for value, added in zip(known, prior, strict=True)]
    return None if max(content) == float("-inf") else content.index(max(content))


my_by_content = missing_as_lowest


# %% wrong: This is the highest value.
def highest_value(log_p, prior):
    if any(value is None or value != value for value in log_p):
        return None
    return max(value - added for value, added in zip(log_p, prior, strict=True))


my_by_content = highest_value


# %% wrong: take the prior off each log p
def by_probability(log_p, prior):
    if any(value is None or value != value for value in log_p):
        return None
    content = [2.718281828**value - added for value, added in zip(log_p, prior, strict=True)]
    return content.index(max(content))


my_by_content = by_probability


# %% wrong: What does Python do with it?
def for_complete_items_only(log_p, prior):
    content = [value - added for value, added in zip(log_p, prior, strict=True)]
    return content.index(max(content))


my_by_content = for_complete_items_only


# %% wrong: It can be None or nan
def without_none(log_p, prior):
    if None in log_p:
        return None
    content = [value - added for value, added in zip(log_p, prior, strict=True)]
    return content.index(max(content))


my_by_content = without_none


# %% wrong: Your positions begin with 1.
def counted_from_one(log_p, prior):
    if any(value is None or value != value for value in log_p):
        return None
    content = [value - added for value, added in zip(log_p, prior, strict=True)]
    return content.index(max(content)) + 1


my_by_content = counted_from_one

# %% [markdown]
# ## Exercise 6: the smallest p of an exchange test
#
# Where a template does not differ between the two prompts, an exchange changes nothing, so only six
# templates count. They can be exchanged in 2 ** 6 = 64 ways. If all six differences point the same
# way, only the observed way and its mirror image are as extreme: p = 2 / 64 = .03125. Holm
# multiplies the smallest of four p by 4: .125. After Holm this p is above .05, however large the
# six differences are.

# %%
my_p = [2 / 2**6, 4 * 2 / 2**6]

# %% wrong: You count all 50 templates
my_p = [2 / 2**50, 4 * 2 / 2**50]

# %% wrong: This is 1/64, a one-sided test. The mirror image of what was observed
my_p = [1 / 2**6, 4 / 2**6]

# %% wrong: Holm is forgotten: four prompts were tested
my_p = [2 / 2**6, 2 / 2**6]

# %% wrong: Does Holm make the smallest of four p smaller or larger?
my_p = [2 / 2**6, 2 / 2**6 / 4]

# %% wrong: The answer is 2 numbers, in order, not 1.
my_p = 2 / 2**6
