--liquibase formatted sql

--changeset ann:types
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
--rollback DROP TYPE mood;

--changeset ann:email-index
CREATE UNIQUE INDEX authors_email ON authors (lower(email));
--rollback DROP INDEX authors_email;
