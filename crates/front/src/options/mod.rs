//! The values of the command's flags.
