//! The record of a rollback under way, durable before the first live path is changed.
