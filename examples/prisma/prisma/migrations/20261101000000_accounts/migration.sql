-- CreateTable
CREATE TABLE "account" (
    "id" INTEGER NOT NULL,
    "balance" INTEGER NOT NULL,

    CONSTRAINT "account_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "account_balance" CHECK ("balance" >= 0)
);

-- CreateTable
CREATE TABLE "transfer" (
    "id" BIGSERIAL NOT NULL,
    "from_account" INTEGER NOT NULL,
    "to_account" INTEGER NOT NULL,
    "amount" INTEGER NOT NULL,

    CONSTRAINT "transfer_pkey" PRIMARY KEY ("id")
);

-- AddForeignKey
ALTER TABLE "transfer" ADD CONSTRAINT "transfer_from_account_fkey" FOREIGN KEY ("from_account") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "transfer" ADD CONSTRAINT "transfer_to_account_fkey" FOREIGN KEY ("to_account") REFERENCES "account"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
