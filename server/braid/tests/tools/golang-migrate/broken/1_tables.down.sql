DROP TABLE authors;
DROP TYPE mood;
