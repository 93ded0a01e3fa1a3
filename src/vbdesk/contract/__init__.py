"""The wire: every resource, enumeration, limit and rule of the interface, as typed models."""
