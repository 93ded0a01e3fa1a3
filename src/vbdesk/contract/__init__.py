"""The wire: resources, enumerations, limits and rules of the interface, as typed models."""
