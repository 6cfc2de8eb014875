"""Mutates rules at one or two places. Most mutants are false, some are still true, and a few are ill-typed."""

import random
from dataclasses import replace


class Mutator:
    def __init__(self, operators, seed):
        self.operators, self.random = operators, random.Random(seed)
        self.by_arity = {}
        for name, op in sorted(operators.items()):
            self.by_arity.setdefault(len(op.inputs), []).append(name)

    def mutant(self, rule):
        """Returns the rule with one or two changes, or None if no attempt changed it."""
        attempts = (self.change_once(rule) for _ in range(6))
        changed = next((made for made in attempts if made and made != rule), None)
        return self.change_once(changed) if changed and self.random.random() < 0.25 else changed

    def change_once(self, rule):
        kind = self.random.random()
        if kind < 0.04 and rule.conditions:
            dropped = self.random.randrange(len(rule.conditions))
            return replace(rule, conditions=rule.conditions[:dropped] + rule.conditions[dropped + 1:])
        if kind < 0.14 and rule.variables:
            return self.change_shape(rule)
        if kind < 0.18 and len(rule.source) > 1:
            return replace(rule, target=rule.target[::-1])
        side = self.random.choice(("source", "target"))
        terms = list(getattr(rule, side))
        k = self.random.randrange(len(terms))
        term = self.change_random_node(terms[k], rule)
        if term is None:
            return None
        terms[k] = term
        return replace(rule, **{side: terms})

    def change_shape(self, rule):
        """Changes a dimension of one variable: to another one, one more, twice as large, a number, or a new size."""
        k = self.random.randrange(len(rule.variables))
        name, dims, rank = rule.variables[k]
        if not dims:
            return None
        at = self.random.randrange(len(dims))
        all_dims = [d for _, others, _ in rule.variables for d in others]
        dim = dims[at]
        changed = self.random.choice([("+", dim, ("num", 1)), ("*", ("num", 2), dim),
                                      ("num", self.random.randint(1, 4)), self.random.choice(all_dims),
                                      ("name", "fresh")])
        variables = list(rule.variables)
        variables[k] = (name, dims[:at] + [changed] + dims[at + 1:], rank)
        return replace(rule, variables=variables)

    def change_random_node(self, term, rule):
        if term[0] == "variable":
            return ("variable", self.random.choice(rule.variables)[0]) if rule.variables else None
        if term[2] and self.random.random() < 0.6:
            k = self.random.randrange(len(term[2]))
            changed = self.change_random_node(term[2][k], rule)
            return changed and term[:2] + (term[2][:k] + [changed] + term[2][k + 1:],) + term[3:]
        return self.change_node(term)

    def change_node(self, term):
        _, name, arguments, parameters, output = term
        choices = []
        if len(arguments) > 1:
            choices.append(("node", name, arguments[::-1], parameters, output))
        choices += arguments
        others = [o for o in self.by_arity[len(arguments)] if o != name]
        if others:
            choices.append(("node", self.random.choice(others), arguments, {}, None))
        if output:
            names = [t.name for t in self.operators[name].outputs]
            choices.append(("node", name, arguments, parameters, names[names.index(output) - 1]))
        choices += [("node", name, arguments, changed, output) for changed in self.changed_parameters(name, parameters)]
        return self.random.choice(choices) if choices else None

    def changed_parameters(self, name, parameters):
        for key, (kind, domain) in self.operators[name].parameters.items():
            if kind == "choice":
                for choice in domain:
                    value = ("num", choice) if isinstance(choice, int) else ("name", choice)
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
