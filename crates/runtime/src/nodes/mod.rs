//! Levels of nodes: linked data structures that a schema describes.
mod edit;
mod free;
mod insert;
mod items;
mod join;
mod locate;
mod payload;
mod rebalance;
mod remove;
mod split;
