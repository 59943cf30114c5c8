/* A ledger in a pool file, mapped as applications map files on a DAX file system; a checker of its own looks at what a power
 * failure left.
 *
 *   landfall check --pm-dir pool-file/pool --recover pool-file/recovery/fsck.c pool-file/correct.c
 *
 * The pool was made beforehand. Each entry is durable before the count that covers it. */
#include "recovery/ledger.h"

static void append(struct ledger *ledger, uint64_t amount) {
  struct entry *entry = &ledger->entry[ledger->count];
  entry->amount = amount;
  entry->check = ~amount;
  lf_persist(entry, sizeof *entry);
  __atomic_store_n(&ledger->count, ledger->count + 1, __ATOMIC_RELEASE);
  lf_persist(&ledger->count, sizeof ledger->count);
}

int main(void) {
  struct ledger *ledger = open_ledger();
  if (!ledger)
    return 1;
  for (uint64_t amount = 10; amount <= 30; amount += 10)
    append(ledger, amount);
  return 0;
}
