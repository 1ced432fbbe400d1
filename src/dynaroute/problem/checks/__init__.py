"""Validation of an instance's fields, with errors that name the field, the customer and a remedy.

Begin with `fields`, those that every problem has; `customers` reads what rules ask for. It may import `base` and
`problem`, and there only the parts that instances are made of.
"""
