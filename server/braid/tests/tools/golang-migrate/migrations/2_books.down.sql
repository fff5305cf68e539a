DROP INDEX authors_email;
DROP TABLE books;
DELETE FROM authors;
