/* BROKEN: the count is written back together with the entry it covers, not after it.
 *
 *   landfall check --pm-dir pool-file/pool --recover pool-file/recovery/fsck.c pool-file/count-first.c
 *
 * Missing: a flush and a fence between the entry and the count. The checker can find a count that covers an empty entry. */
#include "recovery/ledger.h"

static void append(struct ledger *ledger, uint64_t amount) {
  struct entry *entry = &ledger->entry[ledger->count];
  entry->amount = amount;
  entry->check = ~amount;  //~ check
  __atomic_store_n(&ledger->count, ledger->count + 1, __ATOMIC_RELEASE);  //~ kept
  lf_flush(entry, sizeof *entry);
  lf_flush(&ledger->count, sizeof ledger->count);
  lf_fence();
}

int main(void) {
  struct ledger *ledger = open_ledger();
  if (!ledger)
    return 1;
  for (uint64_t amount = 10; amount <= 30; amount += 10)
    append(ledger, amount);
  return 0;
}
