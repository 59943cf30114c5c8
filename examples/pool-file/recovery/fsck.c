/* Checks a ledger: every entry that the count covers must be whole. */
#include "ledger.h"
#include <assert.h>

int main(void) {
  struct ledger *ledger = open_ledger();
  assert(ledger);
  assert(ledger->count <= 15);
  for (uint64_t i = 0; i < ledger->count; i++)
    assert(ledger->entry[i].check == ~ledger->entry[i].amount);
  return 0;
}
