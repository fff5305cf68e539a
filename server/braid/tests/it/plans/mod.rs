//! Plans that serve many statements: each must do what a plan of its own would do.

mod access_paths;
mod automatic_analyze;
mod first_rows;
mod insert_plans;
mod inverted_indexes;
mod literal_plans;
mod lookup_joins;
mod predictions;
mod random_conditions;
mod rules;
mod side;
mod sides;
