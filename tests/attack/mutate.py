"""Rules changed at one place or two: most are false, some are true for another reason, and a few have no type."""

import random
from dataclasses import replace


class Mutator:
    def __init__(self, operators, seed):
        self.operators, self.random = operators, random.Random(seed)
        self.by_arity = {}
        for name, op in sorted(operators.items()):
            self.by_arity.setdefault(len(op.inputs), []).append(name)

    def mutant(self, rule):
        """The rule with one change, or two; nothing if none of several tries changes it."""
        tries = (self.once(rule) for _ in range(6))
        changed = next((made for made in tries if made and made != rule), None)
        return self.once(changed) if changed and self.random.random() < 0.25 else changed

    def once(self, rule):
        kind = self.random.random()
        if kind < 0.04 and rule.conditions:
            gone = self.random.randrange(len(rule.conditions))
            return replace(rule, conditions=rule.conditions[:gone] + rule.conditions[gone + 1:])
        if kind < 0.14 and rule.variables:
            return self.other_shape(rule)
        if kind < 0.18 and len(rule.source) > 1:
            return replace(rule, target=rule.target[::-1])
        side = self.random.choice(("source", "target"))
        terms = list(getattr(rule, side))
        k = self.random.randrange(len(terms))
        term = self.at_random_node(terms[k], rule)
        if term is None:
            return None
        terms[k] = term
        return replace(rule, **{side: terms})

    def other_shape(self, rule):
        """A dimension of one variable is another one, or one more, or twice as large, or a number."""
        k = self.random.randrange(len(rule.variables))
        name, dims, rank = rule.variables[k]
        if not dims:
            return None
        at = self.random.randrange(len(dims))
        all_dims = [d for _, others, _ in rule.variables for d in others]
        dim = dims[at]
        changed = self.random.choice([("+", dim, ("num", 1)), ("*", ("num", 2), dim), ("num", self.random.randint(1, 4)),
                                      self.random.choice(all_dims), ("name", "fresh")])
        variables = list(rule.variables)
        variables[k] = (name, dims[:at] + [changed] + dims[at + 1:], rank)
        return replace(rule, variables=variables)

    def at_random_node(self, term, rule):
        if term[0] == "variable":
            return ("variable", self.random.choice(rule.variables)[0]) if rule.variables else None
        if term[2] and self.random.random() < 0.6:
            k = self.random.randrange(len(term[2]))
            changed = self.at_random_node(term[2][k], rule)
            return changed and term[:2] + (term[2][:k] + [changed] + term[2][k + 1:],) + term[3:]
        return self.other_node(term)

    def other_node(self, term):
        _, name, arguments, parameters, output = term
        ways = []
        if len(arguments) > 1:
            ways.append(("node", name, arguments[::-1], parameters, output))
        ways += arguments
        others = [o for o in self.by_arity[len(arguments)] if o != name]
        if others:
            ways.append(("node", self.random.choice(others), arguments, self.known(others[-1], {}), None))
        if output:
            names = [t.name for t in self.operators[name].outputs]
            ways.append(("node", name, arguments, parameters, names[names.index(output) - 1]))
        ways += [("node", name, arguments, changed, output) for changed in self.other_parameters(name, parameters)]
        return self.random.choice(ways) if ways else None

    def known(self, name, parameters):
        return {k: v for k, v in parameters.items() if k in self.operators[name].parameters}

    def other_parameters(self, name, parameters):
        for key, (kind, about) in self.operators[name].parameters.items():
            if kind == "choice":
                for word in about:
                    value = ("num", word) if isinstance(word, int) else ("name", word)
                    yield {**parameters, key: value}
            elif kind in ("int", "axis"):
                for number in (0, 1, 2, 3):
                    yield {**parameters, key: ("num", number)}
            elif kind == "permutation" and key in parameters:
                order = list(parameters[key][1])
                self.random.shuffle(order)
                yield {**parameters, key: ("list", order)}
            elif kind == "size" and key in parameters:
                value = parameters[key]
                if value != ("fresh",):
                    yield {**parameters, key: ("+", value, ("num", 1))}
                    yield {**parameters, key: ("num", self.random.randint(1, 3))}
