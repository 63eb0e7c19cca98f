# Solutions to the exercises of notebook 03, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.
# Below a solution stand wrong ones: behind `wrong:` are words of the hint that the check must give.

# %% [markdown]
# ## Exercise 1: a text without a letter
#
# The judge could have written C for a tie, and did not. What it wrote names both answers, so nobody
# can say what it decided. It is counted as no verdict, agrees with nobody, and stays among the
# comparisons. If it were dropped, a judge could raise its agreement by being unclear.

# %%
my_answer = "c"

# %% wrong: The judge can say C for a tie, and did not.
my_answer = "a"

# %% wrong: A share of a verdict is a guess, too.
my_answer = "b"

# %% wrong: Options: a, b, c.
my_answer = "d"

# %% [markdown]
# ## Exercise 2: un-swap, then average
#
# In order 21 answer 2 stands as A. So the probability of answer 1 is that of A in the first order
# and that of B in the second. C means a tie in both. Equal means go to a tie, then to 1, then to 2:
# `max` returns the first of several equal ones, so the verdicts stand in this order.


# %%
def by_means(first, second):
    means = {
        "tie": (first[2] + second[2]) / 2,
        "1": (first[0] + second[1]) / 2,
        "2": (first[1] + second[0]) / 2,
    }
    return max(means, key=means.get)


my_settle = by_means


# %% wrong: In order 21 the letter A is answer 2.
def without_unswapping(first, second):
    means = {
        "tie": (first[2] + second[2]) / 2,
        "1": (first[0] + second[0]) / 2,
        "2": (first[1] + second[1]) / 2,
    }
    return max(means, key=means.get)


my_settle = without_unswapping


# %% wrong: You exchange A and B in the wrong order of the two.
def the_other_order(first, second):
    means = {
        "tie": (first[2] + second[2]) / 2,
        "1": (first[1] + second[0]) / 2,
        "2": (first[0] + second[1]) / 2,
    }
    return max(means, key=means.get)


my_settle = the_other_order


# %% wrong: write down what each letter means in each order
def from_behind(first, second):
    means = [(one + other) / 2 for one, other in zip(first, second[::-1], strict=True)]
    return ["1", "2", "tie"][means.index(max(means))]


my_settle = from_behind


# %% wrong: This is BS2
def tie_where_they_differ(first, second):
    one = ["1", "2", "tie"][first.index(max(first))]
    other = ["2", "1", "tie"][second.index(max(second))]
    return one if one == other else "tie"


my_settle = tie_where_they_differ


# %% wrong: You look at order 12 only.
def first_order_only(first, second):
    return ["tie", "1", "2"][max(range(3), key=lambda i: [first[2], first[0], first[1]][i])]


my_settle = first_order_only


# %% wrong: You compare answer 1 with answer 2 only.
def never_a_tie(first, second):
    return "1" if first[0] + second[1] >= first[1] + second[0] else "2"


my_settle = never_a_tie


# %% wrong: Then a tie comes before 1 and 2.
def one_before_a_tie(first, second):
    means = {
        "1": (first[0] + second[1]) / 2,
        "2": (first[1] + second[0]) / 2,
        "tie": (first[2] + second[2]) / 2,
    }
    return max(means, key=means.get)


my_settle = one_before_a_tie


# %% wrong: then the mean of 1, of 2 and of a tie
def two_before_one(first, second):
    means = {
        "tie": (first[2] + second[2]) / 2,
        "2": (first[1] + second[0]) / 2,
        "1": (first[0] + second[1]) / 2,
    }
    return max(means, key=means.get)


my_settle = two_before_one


# %% wrong: is neither '1' nor '2' nor 'tie'
def a_letter(first, second):
    means = {
        "C": (first[2] + second[2]) / 2,
        "A": (first[0] + second[1]) / 2,
        "B": (first[1] + second[0]) / 2,
    }
    return max(means, key=means.get)


my_settle = a_letter


# %% wrong: the mean of 1, of 2 and of a tie
def by_products(first, second):
    products = {
        "tie": first[2] * second[2],
        "1": first[0] * second[1],
        "2": first[1] * second[0],
    }
    return max(products, key=products.get)


my_settle = by_products


# %% wrong: stops with TypeError: the result
def a_number(first, second):
    means = [first[2] + second[2], first[0] + second[1], first[1] + second[0]]
    return means.index(max(means))


my_settle = a_number

# %% [markdown]
# ## Exercise 3: one letter twice
#
# The letter A is answer 1 in order 12 and answer 2 in order 21, so the same letter twice means two
# different verdicts. BS1 has none, BS2 says tie. The means are answer 1 (.60 + .40) / 2 = .50,
# answer 2 (.30 + .50) / 2 = .40, tie .10: the proposed method says 1. Whoever forgets to un-swap
# sees A twice and takes the judge for steady.

# %%
my_answer = "a"

# %% wrong: The letter A is answer 1 in the first order. And in the second?
my_answer = "b"

# %% wrong: Answer 1 has .60 as A, and .40 as B in the second order.
my_answer = "c"

# %% wrong: The answer is one letter
my_answer = 1

# %% [markdown]
# ## Exercise 4: nothing is dropped
#
# The unreadable output stays among the ten and agrees with nobody. Shares by person are .60, .70
# and .80, their mean is .70; with a label from everybody this is the same as 21 of 30 labels.
# Dividing by the nine readable ones would give .78, and reward a judge for outputs that nobody can
# read. The highest single person is .80: choosing the person afterwards flatters, too.

# %%
my_shares = [0.70, 0.80]

# %% wrong: nothing is dropped
my_shares = [7 / 9, 8 / 9]

# %% wrong: The other way round: first the mean, then the highest.
my_shares = [0.80, 0.70]

# %% wrong: Divide by all ten for each person.
my_shares = [7, 8]

# %% wrong: The answer is 2 numbers, in order, not 3.
my_shares = [0.60, 0.70, 0.80]

# %% [markdown]
# ## Exercise 5: Cohen's kappa in a few lines
#
# Chance is what two raters would agree on if each kept its own shares of the labels and decided at
# random. Where that is 1, both always give the same one label, and kappa is undefined.


# %%
def by_shares(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    labels = set(one) | set(two)
    chance = sum(one.count(label) / n * two.count(label) / n for label in labels)
    return (observed - chance) / (1 - chance) if chance < 1 else None


my_kappa = by_shares


# %% wrong: This is the share of equal labels.
def agreement_only(one, two):
    return sum(a == b for a, b in zip(one, two, strict=True)) / len(one)


my_kappa = agreement_only


# %% wrong: You take one half for chance.
def with_one_half(one, two):
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / len(one)
    return (observed - 0.5) / (1 - 0.5)


my_kappa = with_one_half


# %% wrong: You take 1 / (number of labels) for chance.
def with_equal_shares(one, two):
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / len(one)
    chance = 1 / len(set(one) | set(two))
    return (observed - chance) / (1 - chance) if chance < 1 else None


my_kappa = with_equal_shares


# %% wrong: You square the shares of the first rater.
def with_the_first_rater_only(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    chance = sum((one.count(label) / n) ** 2 for label in set(one))
    return (observed - chance) / (1 - chance) if chance < 1 else None


my_kappa = with_the_first_rater_only


# %% wrong: This is Scott's pi.
def with_pooled_shares(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    both = one + two
    chance = sum((both.count(label) / (2 * n)) ** 2 for label in set(both))
    return (observed - chance) / (1 - chance) if chance < 1 else None


my_kappa = with_pooled_shares


# %% wrong: the share of each label for each rater
def over_the_list(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    chance = sum(one.count(label) / n * two.count(label) / n for label in one)
    return (observed - chance) / (1 - chance) if chance != 1 else None


my_kappa = over_the_list


# %% wrong: This is the agreement above chance.
def not_as_a_share(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    chance = sum(one.count(label) * two.count(label) for label in set(one)) / n**2
    return observed - chance if chance < 1 else None


my_kappa = not_as_a_share


# %% wrong: Work out this input on paper: the share of equal labels
def over_chance(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    chance = sum(one.count(label) * two.count(label) for label in set(one)) / n**2
    if chance in (0, 1):
        return None
    return (observed - chance) / chance


my_kappa = over_chance


# %% wrong: the sum of their products
def for_two_labels(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    p, q = one.count("a") / n, two.count("a") / n
    r, s = one.count("b") / n, two.count("b") / n
    chance = p * q + r * s
    return (observed - chance) / (1 - chance) if chance < 1 else None


my_kappa = for_two_labels


# %% wrong: kappa is -0.5; your function gives 0.
def cut_at_0(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    chance = sum(one.count(label) * two.count(label) for label in set(one)) / n**2
    return max(0, (observed - chance) / (1 - chance)) if chance < 1 else None


my_kappa = cut_at_0


# %% wrong: Chance is 1, so you would divide by 0.
def without_a_guard(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    chance = sum(one.count(label) * two.count(label) for label in set(one)) / n**2
    return (observed - chance) / (1 - chance)


my_kappa = without_a_guard


# %% wrong: Could they have disagreed by chance?
def one_where_undefined(one, two):
    n = len(one)
    observed = sum(a == b for a, b in zip(one, two, strict=True)) / n
    chance = sum(one.count(label) * two.count(label) for label in set(one)) / n**2
    return (observed - chance) / (1 - chance) if chance < 1 else 1


my_kappa = one_where_undefined

# %% [markdown]
# ## Exercise 6: judge and data together
#
# Nine of ten pairs are ties in truth, so calling a tie is right nearly always, and averaging, which
# hardly ever ends in a tie when a judge leans to a slot, loses. With few ties the same judge gains,
# as section 8 shows: hence not a. And the steadiness of Q says that both orders name the same, not
# that they are right; `sim-judge-long` is steady and mostly wrong: not c.

# %%
my_answer = "b"

# %% wrong: The figures belong to data with many ties.
my_answer = "a"

# %% wrong: Is that agreement with people?
my_answer = "c"

# %% wrong: Options: a, b, c.
my_answer = "d"
