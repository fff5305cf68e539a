//! Definitions of several sessions beside each other: in blocks, and by functions in statements.

mod in_blocks;
mod in_functions;
