//! Node schemas: what the nodes of a linked data structure hold, and in which order they are visited.
//!
//! A schema is a text that defines the node types of one level kind, such as a B-tree or a list of blocks. It says nothing of
//! algorithms: conversions, kernels and updates follow from it alone. [`Schema::parse`] reads and checks one;
//! [`LevelKind::nodes`](crate::LevelKind::nodes) makes a level kind of it, and [`LevelKind::nodes_named`](crate::LevelKind::nodes_named)
//! finds those that every program has (`builtin/*.node`).
//!
//! A level of such a kind has two arrays of 32-bit numbers, and values like every other:
//!
//! ```text
//! root[parent position]    the handle of the subtensor's root node; 0 if it is empty
//! node[..]                 the words of all nodes
//! values[node[h + slot] + k]   the value of element k of the node at h, whose word `slot` says where its values begin
//! ```
//!
//! A *handle* is the place of a node's first word in `node`, which is a multiple of [`Schema::align`], and in the bits below that the
//! number of the node's type among the subtypes of its supertype ([`Node::tag`]), 0 for types without one. The first
//! `align` words are no node's, so that no handle is 0: word [`Schema::POSITIONS`] of them is the number of positions of the level
//! (one more than the greatest that a node has), the others are 0. [`Layout`] says what a node's words are.
//!
//! If the root type has nothing but one child that is no array, no node is made of it, and `root` has the handle of that child
//! ([`Schema::is_transparent`]).
//!
//! ```
//! use lacunar_formats::Schema;
//! let list = Schema::parse("
//!     def list { e: elem nonempty  n: list  seq = e, n }
//!     def list_head { h: list }
//! ").unwrap();
//! assert_eq!(list.name(), "list");
//! assert!(list.is_ordered() && list.is_transparent());
//! // Words of a node: the coordinate, the handle of the next node, the position of the value; and one that is not used.
//! let node = &list.nodes()[0];
//! assert_eq!((node.fields[0].offset, node.fields[1].offset, node.layout.slot), (0, 1, Some(2)));
//! assert_eq!(node.words(0), 4);
//! ```
//!
//! Paper: Chou and Amarasinghe, *Compilation of Dynamic Sparse Tensor Algebra* (OOPSLA 2022), §3.

mod builtin;
mod check;
mod define;
mod error;
mod layout;
mod names;
mod print;
mod rules;
mod syntax;
mod token;

use std::hash::{Hash, Hasher};

pub use builtin::Template;
pub(crate) use builtin::named;
pub use error::SchemaError;

/// A checked schema.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) supertypes: Vec<Supertype>,
    pub(crate) root: usize,
    pub(crate) is_ordered: bool,
    pub(crate) align: u32,
}

/// A supertype: a name for several node types, one of which a child is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supertype {
    /// Its name.
    pub name: String,
    /// The node types, by number; a type's place here is its tag.
    pub subtypes: Vec<usize>,
}

/// A node type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number in [`Schema::nodes`].
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The supertype, by its number in [`Schema::supertypes`].
    pub supertype: Option<usize>,
    /// The low bits of handles of such nodes.
    pub tag: u32,
    /// The fields, in the order of the text.
    pub fields: Vec<Field>,
    /// The order in which elements and children are visited, all of them: that of the text, and behind it those which the text does
    /// not name. It is the order of coordinates if the schema is [ordered](Schema::is_ordered).
    pub seq: Vec<Step>,
    /// The entries of the order in the text, and true of those in braces that mean something.
    pub(crate) written: Vec<(Vec<usize>, bool)>,
    /// The types of the nodes that a field `parent` refers to; `None` if there is no such field, or nothing but the root holds
    /// such nodes: then the word is 0.
    pub holder: Option<Target>,
    /// The words of a node besides those of its fields.
    pub layout: Layout,
}

/// A field of a node. Item `k` of the field is at word `offset + rooms * room + k` of the node, and if it is an element, its value
/// is at position `node[slot word] + slot + slot_rooms * room + k`; `room` is the word of that name, in nodes that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The data that it holds.
    pub kind: FieldKind,
    /// Its first word; of arrays without a bound, where these begin.
    pub offset: u32,
    /// The number of arrays without a bound that stand before it.
    pub rooms: u32,
    /// Of elements, the number of the first among those of the node.
    pub slot: u32,
    /// Of elements in arrays without a bound, how many other such arrays of elements stand before.
    pub slot_rooms: u32,
}

/// The data in a field of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Coordinates with a value or a subtensor each. The coordinate [`Schema::UNUSED`] is none.
    Elem {
        /// The number of coordinates; one if it is no array.
        array: Option<Extent>,
        /// True if all are used.
        nonempty: bool,
    },
    /// Handles of other nodes; 0 is none.
    Child {
        /// The type of the nodes.
        to: Target,
        /// The number of handles; one if it is no array.
        array: Option<Extent>,
        /// True if none of them is 0.
        nonempty: bool,
    },
    /// The length of the arrays that name it.
    Size {
        /// The least.
        least: u32,
        /// The greatest; none if arrays are as long as need be.
        most: Option<u32>,
        /// The length that conversions give arrays if they can, of those without a greatest.
        about: Option<u32>,
    },
    /// Data that only the author of the schema knows the meaning of; 0 in nodes that are made here.
    Meta(Meta),
    /// The handle of the node that holds this one; 0 if the root does.
    Parent,
}

/// The types of [`FieldKind::Meta`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meta {
    /// `bool`.
    Bool,
    /// `int8` to `int64`: so many bits.
    Int(u32),
    /// `uint8` to `uint64`: so many bits.
    Uint(u32),
}

/// The length of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// This many.
    Const(u32),
    /// As the size field of the node says that has this number.
    Size(usize),
}

/// The type of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A node type, by its number.
    Node(usize),
    /// One of the subtypes of a supertype, by its number.
    Super(usize),
}

/// A step of the order in which a node's elements and children are visited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A field that is no array.
    One(usize),
    /// Arrays of the same length: item 0 of each, then item 1 of each, and so on.
    Together(Vec<usize>),
}

/// The words of a node: scalar fields and bounded arrays first, then arrays without a bound, `room` items each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The number of words before the arrays without a bound; a multiple of the alignment, if there are none of these.
    pub words: u32,
    /// The word that has the position of the first element; none in types without elements.
    pub slot: Option<u32>,
    /// The number of positions of a node, besides those of arrays without a bound.
    pub slots: u32,
    /// The word that has the number of items for which there is room in each array without a bound; none without such arrays.
    pub room: Option<u32>,
    /// The arrays without a bound, by their fields' numbers, in the order of their places.
    pub unbounded: Vec<usize>,
    /// The number of them that hold elements.
    pub slot_rooms: u32,
    /// Nodes begin at multiples of this.
    pub align: u32,
}

impl Schema {
    /// The coordinate of an element that is not used.
    pub const UNUSED: u32 = u32::MAX;
    /// The word of the node array that has the number of positions of the level.
    pub const POSITIONS: usize = 1;
    /// The greatest depth of nodes: the number of them, from the root on, that wait for the rest of their fields while another is visited.
    /// A node whose last child is visited waits no more, so that lists have depth 0.
    pub const DEPTH: usize = 64;
    /// The number of words by which the last array without a bound grows, if it is of elements: those of the longest vectors whose
    /// coordinates are looked up at once.
    pub const VECTOR: u32 = 8;
    /// The greatest number of size fields in a type.
    pub const SIZES: usize = 8;
    /// The largest constant in a schema: bounds, lengths, arguments.
    pub const LARGEST: u32 = 1 << 16;

    /// Reads a schema and checks it; parameters have their default values.
    ///
    /// # Errors
    /// The mistakes in it, in the order of their places.
    pub fn parse(text: &str) -> Result<Schema, Vec<SchemaError>> {
        check::schema(text, &[])
    }

    /// The schema of a name that every program has, with these values of its first parameters.
    ///
    /// ```
    /// use lacunar_formats::Schema;
    /// assert_eq!(Schema::builtin("blist", &[64]).unwrap().name(), "blist<64>");
    /// assert!(Schema::builtin("blist", &[0]).is_none() && Schema::builtin("blast", &[]).is_none());
    /// ```
    pub fn builtin(name: &str, arguments: &[u32]) -> Option<Schema> {
        Template::every_program().iter().find(|template| template.name() == name)?.with(arguments).ok()
    }

    /// The name of the level: that of the root type, without `_root` or `_head`, with the values of parameters that are not the
    /// default ones.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text, in one form for all texts that differ in blanks, comments and parameters only.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The node types.
    #[inline]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The supertypes.
    pub fn supertypes(&self) -> &[Supertype] {
        &self.supertypes
    }

    /// The type of root nodes.
    pub fn root(&self) -> usize {
        self.root
    }

    /// True if coordinates ascend in the order in which they are visited.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    /// Nodes begin at multiples of so many words.
    #[inline]
    pub fn align(&self) -> u32 {
        self.align
    }

    /// True if the root type is nothing but one child: no node is made of it.
    pub fn is_transparent(&self) -> bool {
        self.transparent().is_some()
    }

    /// The type of the nodes that array `root` refers to.
    #[inline]
    pub fn entry(&self) -> Target {
        self.transparent().unwrap_or(Target::Node(self.root))
    }

    #[inline]
    fn transparent(&self) -> Option<Target> {
        match self.nodes.get(self.root).map(|root| root.fields.as_slice()) {
            Some([Field { kind: FieldKind::Child { to, array: None, .. }, .. }]) => Some(*to),
            _ => None,
        }
    }

    /// The node types that a child may be of, by number; its tag tells which.
    #[inline]
    pub fn types(&self, target: Target) -> &[usize] {
        match target {
            Target::Super(number) => self.supertypes.get(number).map_or(&[], |it| it.subtypes.as_slice()),
            Target::Node(number) => self.nodes.get(number).map_or(&[], |node| std::slice::from_ref(&node.number)),
        }
    }

    /// The node type of a handle of a child, if its tag is one of the type's.
    #[inline]
    pub fn type_of(&self, target: Target, handle: u32) -> Option<usize> {
        let tag = handle & (self.align - 1);
        self.types(target).iter().copied().find(|number| self.nodes[*number].tag == tag)
    }
}

impl Node {
    /// The number of words of a node with so much room in arrays without a bound; the next node may begin behind them. The last one, if it is
    /// of elements, takes whole vectors of words ([`Node::vectors`]).
    #[inline]
    pub fn words(&self, room: u32) -> u64 {
        let last = self.layout.unbounded.last().map_or(0, |last| self.vectors(*last, room) - u64::from(room));
        let words = u64::from(self.layout.words) + self.layout.unbounded.len() as u64 * u64::from(room) + last;
        // A power of two.
        let last = u64::from(self.layout.align.max(1)) - 1;
        (words + last) & !last
    }

    /// The words that a field without a bound takes if it has so much room: where nothing lies behind elements, as many as vectors of
    /// [`Schema::VECTOR`] words have.
    #[inline]
    pub fn vectors(&self, field: usize, room: u32) -> u64 {
        let is_padded = self.is_padded(field);
        if is_padded { u64::from(room).next_multiple_of(Schema::VECTOR.into()) } else { room.into() }
    }

    /// True for an array of elements, all used from its beginning and without a bound, that no other array lies behind.
    #[inline]
    pub fn is_padded(&self, field: usize) -> bool {
        let is_elem = matches!(self.fields[field].kind, FieldKind::Elem { nonempty: true, .. });
        is_elem && self.layout.unbounded.last() == Some(&field)
    }

    /// The number of positions of a node with so much room in arrays without a bound.
    #[inline]
    pub fn slots(&self, room: u32) -> u64 {
        u64::from(self.layout.slots) + u64::from(self.layout.slot_rooms) * u64::from(room)
    }

    /// The fields with their numbers that hold elements.
    pub fn elems(&self) -> impl Iterator<Item = (usize, &Field)> {
        self.fields.iter().enumerate().filter(|(_, field)| matches!(field.kind, FieldKind::Elem { .. }))
    }

    /// The fields with their numbers that hold children.
    pub fn children(&self) -> impl Iterator<Item = (usize, &Field)> {
        self.fields.iter().enumerate().filter(|(_, field)| matches!(field.kind, FieldKind::Child { .. }))
    }

    /// The field that refers to the node's holder.
    pub fn parent(&self) -> Option<&Field> {
        self.fields.iter().find(|field| field.kind == FieldKind::Parent)
    }
}

impl Field {
    /// The length of the field, if it is an array of elements or children.
    #[inline]
    pub fn array(&self) -> Option<Extent> {
        match self.kind {
            FieldKind::Elem { array, .. } | FieldKind::Child { array, .. } => array,
            _ => None,
        }
    }

    /// True if no item is absent: no coordinate of those within its length is [`Schema::UNUSED`], no handle 0.
    pub fn is_nonempty(&self) -> bool {
        matches!(self.kind, FieldKind::Elem { nonempty: true, .. } | FieldKind::Child { nonempty: true, .. })
    }

    /// The word of item `k`, from the node's first on.
    #[inline]
    pub fn word(&self, room: u32, k: u32) -> u64 {
        u64::from(self.offset) + u64::from(self.rooms) * u64::from(room) + u64::from(k)
    }

    /// The number of item `k` among the node's elements, if it is one.
    #[inline]
    pub fn slot(&self, room: u32, k: u32) -> u64 {
        u64::from(self.slot) + u64::from(self.slot_rooms) * u64::from(room) + u64::from(k)
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}

impl Eq for Schema {}

impl Hash for Schema {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// The text, which reads back as the same schema.
impl std::fmt::Display for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}
