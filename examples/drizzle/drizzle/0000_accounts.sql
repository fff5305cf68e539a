CREATE TABLE "account" (
	"id" integer PRIMARY KEY NOT NULL,
	"balance" integer NOT NULL,
	CONSTRAINT "account_balance" CHECK ("account"."balance" >= 0)
);
--> statement-breakpoint
CREATE TABLE "transfer" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	"from_account" integer NOT NULL REFERENCES "account"("id"),
	"to_account" integer NOT NULL REFERENCES "account"("id"),
	"amount" integer NOT NULL
);
