# Solutions to the exercises of notebook 04, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.
# Below a solution stand wrong ones: behind `wrong:` are words of the hint that the check must give.

# %% [markdown]
# ## Exercise 1: always B
#
# In order "bn" the neutral reason is B, in order "nb" it is A, and each case is asked in both
# orders equally often: the accuracy is .5. In each case the two orders name different reasons, so
# all cases vary by their reasons. The letter never changes: by letters no case varies, although
# nothing has been read.

# %%
my_rates = [0.5, 1.0, 0.0]

# %% wrong: You have letters and reasons the wrong way round.
my_rates = [0.5, 0.0, 1.0]

# %% wrong: Does the reason behind it stay the same, too?
my_rates = [0.5, 0.0, 0.0]

# %% wrong: Does its letter vary?
my_rates = [0.5, 1.0, 1.0]

# %% wrong: In how many of the cases is this so?
my_rates = [0.5, 0.5, 0.0]

# %% wrong: B means the biased reason in one order.
my_rates = [0, 0, 0]

# %% wrong: These are per cent.
my_rates = [50, 100, 0]

# %% wrong: The answer is 3 numbers, in order, not 2.
my_rates = [0.5, 1.0]

# %% [markdown]
# ## Exercise 2: the share of neutral reasons
#
# First leave out what cannot be read, then look up what the letter means in its order. Both orders
# are counted together and divided once; without a valid answer there is no share.


# %%
def by_the_order(answers):
    neutral = {"nb": "A", "bn": "B"}
    valid = [letter == neutral[order] for order, letter in answers if letter is not None]
    return sum(valid) / len(valid) if valid else None


my_share = by_the_order


# %% wrong: This is the share of the letter A.
def by_the_letter(answers):
    valid = [letter == "A" for order, letter in answers if letter is not None]
    return sum(valid) / len(valid) if valid else None


my_share = by_the_letter


# %% wrong: You count an answer that cannot be read as one that is not neutral.
def of_all_answers(answers):
    if not answers:
        return None
    neutral = {"nb": "A", "bn": "B"}
    return sum(letter == neutral[order] for order, letter in answers) / len(answers)


my_share = of_all_answers


# %% wrong: You take the share of each order, and then the mean of both.
def order_by_order(answers):
    shares = []
    for wanted, neutral in (("nb", "A"), ("bn", "B")):
        own = [letter for order, letter in answers if order == wanted and letter is not None]
        if own:
            shares.append(own.count(neutral) / len(own))
    return sum(shares) / len(shares) if shares else None


my_share = order_by_order


# %% wrong: 0 would mean that the model never named the neutral reason.
def zero_without_answers(answers):
    neutral = {"nb": "A", "bn": "B"}
    valid = [letter == neutral[order] for order, letter in answers if letter is not None]
    return sum(valid) / len(valid) if valid else 0


my_share = zero_without_answers


# %% wrong: It is neither A nor B.
def two_kinds_of_letters(answers):
    if not answers:
        return None
    named = [(letter == "A") == (order == "nb") for order, letter in answers]
    return sum(named) / len(named)


my_share = two_kinds_of_letters


# %% wrong: This is the share of biased reasons.
def the_other_reason(answers):
    biased = {"nb": "B", "bn": "A"}
    valid = [letter == biased[order] for order, letter in answers if letter is not None]
    return sum(valid) / len(valid) if valid else None


my_share = the_other_reason


# %% wrong: No answer is valid here, so there is nothing to divide by.
def never_looked_at_the_number(answers):
    neutral = {"nb": "A", "bn": "B"}
    valid = [letter == neutral[order] for order, letter in answers if letter is not None]
    return sum(valid) / len(valid)


my_share = never_looked_at_the_number

# %% [markdown]
# ## Exercise 3: the mean of both orders
#
# With P(A) .9 in both orders the model likes the letter, and the mean is one half. With .9 and .2
# it likes the reason: P(neutral) is .9 and .8, the mean .85.


# %%
def over_both_orders(a_where_neutral_is_a, a_where_neutral_is_b):
    return (a_where_neutral_is_a + (1 - a_where_neutral_is_b)) / 2


my_mean = over_both_orders


# %% wrong: This is the mean of P(A).
def of_the_letter(a_where_neutral_is_a, a_where_neutral_is_b):
    return (a_where_neutral_is_a + a_where_neutral_is_b) / 2


my_mean = of_the_letter


# %% wrong: P(A) and P(B) add up to 1.
def subtracted(a_where_neutral_is_a, a_where_neutral_is_b):
    return (a_where_neutral_is_a - a_where_neutral_is_b) / 2


my_mean = subtracted


# %% wrong: This is the product of P(neutral) of both orders
def multiplied(a_where_neutral_is_a, a_where_neutral_is_b):
    return a_where_neutral_is_a * (1 - a_where_neutral_is_b)


my_mean = multiplied


# %% wrong: Which letter is neutral in the second one?
def letters_multiplied(a_where_neutral_is_a, a_where_neutral_is_b):
    return a_where_neutral_is_a * a_where_neutral_is_b


my_mean = letters_multiplied


# %% wrong: How many orders are there?
def summed(a_where_neutral_is_a, a_where_neutral_is_b):
    return a_where_neutral_is_a + 1 - a_where_neutral_is_b


my_mean = summed

# %% [markdown]
# ## Exercise 4: one answer that cannot be read
#
# The seven valid answers name the same reason: the case does not vary. The answer that cannot be
# read is counted beside them, and never filled in. Had the model answered every second prompt only,
# far fewer differences could have been seen: so look at this count, too.

# %%
my_answer = "b"

# %% wrong: An answer that cannot be read names no reason.
my_answer = "a"

# %% wrong: Seven answers can still be compared.
my_answer = "c"

# %% wrong: Options: a, b, c.
my_answer = "d"

# %% [markdown]
# ## Exercise 5: two tests, two p
#
# If a model decides once per case, its eight answers are one piece of evidence. The chi-square test
# counts them as eight, and finds differences where there are none: in the stored simulations in
# nearly a third of the studies. The exchange over cases keeps its level. That it finds nothing does
# not prove that the models are equal: with 36 cases only large differences are found. Where a
# liking for a letter sets the two orders against each other, chi-square alarms too rarely instead.

# %%
my_answer = "a"

# %% wrong: Are these 288 answers independent?
my_answer = "b"

# %% wrong: How many cases are there to find it with?
my_answer = "c"

# %% wrong: The answer is one letter
my_answer = "both"

# %% [markdown]
# ## Exercise 6: a score that a rule reaches, too
#
# A model that had learnt nothing but "take the reason without the name of the group" would name the
# neutral reason in 33 of 36 cases. So 32 of 36 do not tell the two apart, however far they lie
# above chance. What helps are cases in which both reasons name the group, or neither does.

# %%
my_answer = "c"

# %% wrong: Could anything else than recognising bias do that?
my_answer = "a"

# %% wrong: one case of 36 is no difference
my_answer = "b"

# %% wrong: The answer is one letter
my_answer = 33
