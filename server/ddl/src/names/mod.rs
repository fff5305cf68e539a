//! Names in statements to objects of the catalog, owners, and descriptions for messages.

pub(crate) mod describe;
pub(crate) mod in_use;
pub(crate) mod lookup;
pub(crate) mod on_commit;
pub(crate) mod owner;
pub(crate) mod settings;
pub(crate) mod temporary;
pub(crate) mod types;
pub(crate) mod user_types;
