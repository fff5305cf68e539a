CREATE TABLE half (id int);
ALTER TABLE nowhere ADD COLUMN id int;
