//! The real program, as a user runs it: whole standard output, standard error and exit status.

mod archives;
mod attribution;
mod causes;
mod controller;
mod demo;
mod diff;
mod ephemeral;
mod erasing;
mod full_disk;
mod hostile;
mod interrupted;
mod jailed;
mod keyboard;
mod looking;
mod manners;
mod people;
mod places;
mod records;
mod rewinding;
mod running;
mod settings;
mod snapshots;
mod terminal;
mod upkeep;
mod watching;
mod world;
