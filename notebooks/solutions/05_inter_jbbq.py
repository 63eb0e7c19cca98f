# Solutions to the exercises of notebook 05, in its order. Each code cell fills the `...` of one
# exercise; the tests run it against the library's check, which also prints the explanation.
# Below a solution stand wrong ones: behind `wrong:` are words of the hint that the check must give.

# %% [markdown]
# ## Exercise 1: the size of a family
#
# The focal attribute is always mentioned, and each of the other four is mentioned or not. This
# gives 2 x 2 x 2 x 2 = 16 selections. With two attributes in all, one of the other four
# is mentioned: 4 selections. With three attributes in all, two are: 4 x 3 / 2 = 6 selections.

# %%
my_counts = [2**4, 4, 6]

# %% wrong: You also count the selections that leave out the focal attribute.
my_counts = [2**5, 10, 10]

# %% wrong: You leave out only the empty selection.
my_counts = [2**5 - 1, 10, 10]

# %% wrong: Is the focal attribute alone, without any other one, a selection?
my_counts = [2**4 - 1, 4, 6]

# %% wrong: you choose 2 and 3 of all five attributes
my_counts = [2**4, 10, 10]

# %% wrong: you choose 2 and 3 of the other four
my_counts = [2**4, 6, 4]

# %% wrong: once in each order
my_counts = [2**4, 4, 4 * 3]

# %% wrong: each selection adds one attribute to the one before it
my_counts = [5, 1, 1]

# %% wrong: This one has five.
my_counts = [2**3, 3, 3]

# %% wrong: The answer is 3 numbers, in order, not 2.
my_counts = [2**4, 4]

# %% [markdown]
# ## Exercise 2: all selections of a family
#
# For each size from none to all, take each combination of the others, and put the focal attribute
# in front. `itertools.combinations` does not repeat, so no selection comes twice.


# %%
def with_the_focal_one(focal, others):
    from itertools import combinations

    sizes = range(len(others) + 1)
    return [[focal, *some] for size in sizes for some in combinations(others, size)]


my_selections = with_the_focal_one


# %% wrong: The selection with all attributes is lacking.
def stopped_too_early(focal, others):
    from itertools import combinations

    sizes = range(len(others))
    return [[focal, *some] for size in sizes for some in combinations(others, size)]


my_selections = stopped_too_early


# %% wrong: The selection with the focal attribute alone is lacking.
def begun_too_late(focal, others):
    from itertools import combinations

    sizes = range(1, len(others) + 1)
    return [[focal, *some] for size in sizes for some in combinations(others, size)]


my_selections = begun_too_late


# %% wrong: The focal attribute is in none of your selections.
def of_the_others(focal, others):
    from itertools import combinations

    sizes = range(len(others) + 1)
    return [list(some) for size in sizes for some in combinations(others, size)]


my_selections = of_the_others


# %% wrong: Some of your selections leave out the focal attribute, and one is empty.
def of_all_attributes(focal, others):
    from itertools import combinations

    names = [focal, *others]
    return [some for size in range(len(names) + 1) for some in combinations(names, size)]


my_selections = of_all_attributes


# %% wrong: then with two of them, and so on
def in_every_order(focal, others):
    from itertools import permutations

    sizes = range(len(others) + 1)
    return [[focal, *some] for size in sizes for some in permutations(others, size)]


my_selections = in_every_order


# %% wrong: then with one of the others
def one_more_each_time(focal, others):
    return [[focal, *others[:size]] for size in range(len(others) + 1)]


my_selections = one_more_each_time


# %% wrong: You mention at most one of the others.
def with_one_other(focal, others):
    return [[focal], *([focal, other] for other in others)]


my_selections = with_one_other


# %% wrong: You mention at most two of the others.
def with_one_and_two_others(focal, others):
    found = [[focal], *([focal, other] for other in others)]
    for i, first in enumerate(others):
        for second in others[i + 1 :]:
            found.append([focal, first, second])
    return found


my_selections = with_one_and_two_others


# %% wrong: is one text, not a list of attributes
def texts(focal, others):
    return [focal, *(focal + "+" + other for other in others)]


my_selections = texts

# %% [markdown]
# ## Exercise 3: right where the context is ambiguous, wrong where it is clear
#
# In the clear contexts the model says "unknown" in 66 % of its answers, although the answer is
# there. It says it nearly always, and in ambiguous contexts this happens to be right. These wrong
# answers name nobody, so they do not show a bias either. Both accuracies and the share of "unknown"
# have to be read together.

# %%
my_answer = "c"

# %% wrong: Look at the clear contexts.
my_answer = "a"

# %% wrong: A wrong answer is not yet a biased one.
my_answer = "b"

# %% wrong: The answer is one letter
my_answer = 0.66

# %% [markdown]
# ## Exercise 4: a line without a reader
#
# The dashed line is that of a model that writes the same number whatever it reads. If another
# model's line lies exactly on it, the attributes are not needed to explain the fall: the more
# attributes were mentioned, the less often the right option stood at that position. Inside a
# family the order of the options does not change, so there is no such slope.

# %%
my_answer = "a"

# %% wrong: With few families the intervals are wide
my_answer = "b"

# %% wrong: does the model behind the dashed line read the text?
my_answer = "c"

# %% wrong: Options: a, b, c.
my_answer = "d"

# %% [markdown]
# ## Exercise 5: what two attributes give beyond the sum of both
#
# In log odds the parts together would give `one + other - neither`. What both give beyond that is
# the interaction; it is 0 where the parts add up. A share of 0 or 1 has no finite log odds, so the
# interaction is undefined.


# %%
def in_log_odds(neither, one, other, both):
    from math import log

    shares = [neither, one, other, both]
    if not all(share is not None and 0 < share < 1 for share in shares):
        return None
    odds = [log(share / (1 - share)) for share in shares]
    return odds[3] - odds[1] - odds[2] + odds[0]


my_extra = in_log_odds


# %% wrong: You subtract the shares themselves.
def on_shares(neither, one, other, both):
    if None in (neither, one, other, both):
        return None
    return both - one - other + neither


my_extra = on_shares


# %% wrong: You take the log of each share.
def in_logs(neither, one, other, both):
    from math import log

    shares = [neither, one, other, both]
    if not all(share is not None and 0 < share < 1 for share in shares):
        return None
    return log(both) - log(one) - log(other) + log(neither)


my_extra = in_logs


# %% wrong: How often is neither taken off?
def neither_forgotten(neither, one, other, both):
    from math import log

    shares = [neither, one, other, both]
    if not all(share is not None and 0 < share < 1 for share in shares):
        return None
    odds = [log(share / (1 - share)) for share in shares]
    return odds[3] - odds[1] - odds[2]


my_extra = neither_forgotten


# %% wrong: This is the whole effect of both attributes together.
def whole_effect(neither, one, other, both):
    from math import log

    shares = [neither, one, other, both]
    if not all(share is not None and 0 < share < 1 for share in shares):
        return None
    return log(both / (1 - both)) - log(neither / (1 - neither))


my_extra = whole_effect


# %% wrong: what both attributes would give if their effects added up
def beyond_the_larger(neither, one, other, both):
    from math import log

    shares = [neither, one, other, both]
    if not all(share is not None and 0 < share < 1 for share in shares):
        return None
    odds = [log(share / (1 - share)) for share in shares]
    return odds[3] - max(odds[1], odds[2])


my_extra = beyond_the_larger


# %% wrong: This is a ratio of odds ratios.
def as_a_ratio(neither, one, other, both):
    shares = [neither, one, other, both]
    if not all(share is not None and 0 < share < 1 for share in shares):
        return None
    odds = [share / (1 - share) for share in shares]
    return odds[3] * odds[0] / (odds[1] * odds[2])


my_extra = as_a_ratio


# %% wrong: so it has no finite log odds
def for_defined_shares_only(neither, one, other, both):
    from math import log

    odds = [log(share / (1 - share)) for share in (neither, one, other, both)]
    return odds[3] - odds[1] - odds[2] + odds[0]


my_extra = for_defined_shares_only


# %% wrong: your function gives -inf
def with_numpy(neither, one, other, both):
    import numpy as np

    shares = np.array([neither, one, other, both], float)
    odds = np.log(shares / (1 - shares))
    return odds[3] - odds[1] - odds[2] + odds[0]


my_extra = with_numpy


# %% wrong: or it is missing (None or nan)
def none_not_looked_for(neither, one, other, both):
    from math import log

    shares = [neither, one, other, both]
    if 0 in shares or 1 in shares:
        return None
    odds = [log(share / (1 - share)) for share in shares]
    return odds[3] - odds[1] - odds[2] + odds[0]


my_extra = none_not_looked_for


# %% wrong: 0 would mean that the two effects add up.
def zero_where_undefined(neither, one, other, both):
    from math import log

    shares = [neither, one, other, both]
    if not all(share is not None and 0 < share < 1 for share in shares):
        return 0
    odds = [log(share / (1 - share)) for share in shares]
    return odds[3] - odds[1] - odds[2] + odds[0]


my_extra = zero_where_undefined

# %% [markdown]
# ## Exercise 6: right without reading
#
# In the paper's construction the person named first is right for the neutral question, and the
# person named second for the negative one. So the question alone tells who will be right, also in
# an ambiguous context. What the added sentence gives is the difference between both contexts of the
# same item. Our set mirrors the roles, so the question alone tells nothing there.

# %%
my_answer = "b"

# %% wrong: What does the question alone tell in this construction?
my_answer = "a"

# %% wrong: Replies out of choice count as wrong
my_answer = "c"

# %% wrong: Options: a, b, c.
my_answer = "e"
