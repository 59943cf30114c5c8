/* Two accounts, and transfers between them that happen as a whole or not at all.
 *
 * Before a transfer touches the accounts, their old balances are saved in a log; `armed` says that the log counts. Four
 * steps, each durable before the next begins: save, arm, change, disarm. If recovery finds the log armed it puts the old
 * balances back. After a power failure no money has appeared or vanished. */
#include <assert.h>
#include <landfall.h>
#include <stdint.h>

enum { TOTAL = 100 };

struct bank {
  _Alignas(64) uint64_t a;
  _Alignas(64) uint64_t b;
  _Alignas(64) uint64_t old_a;
  uint64_t old_b; /* on the same line */
  _Alignas(64) uint64_t armed;
  _Alignas(64) uint64_t open; /* the bank has its capital */
};

static void set(uint64_t *word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  lf_persist(word, sizeof *word);
}

static void transfer(struct bank *bank, uint64_t amount) {
  bank->old_a = bank->a;
  bank->old_b = bank->b;
  lf_persist(&bank->old_a, 2 * sizeof bank->old_a);
  set(&bank->armed, 1);
  bank->a -= amount;
  bank->b += amount;
  lf_flush(&bank->a, sizeof bank->a);
  lf_flush(&bank->b, sizeof bank->b);
  lf_fence();
  set(&bank->armed, 0);
}

static void recover(struct bank *bank) {
  if (!bank->open) {
    set(&bank->a, TOTAL);
    set(&bank->open, 1);
  }
  if (bank->armed) {
    set(&bank->a, bank->old_a);
    set(&bank->b, bank->old_b);
    set(&bank->armed, 0);
  }
  assert(bank->a + bank->b == TOTAL);
}

int main(void) {
  struct bank *bank = lf_pm(sizeof *bank);
  recover(bank);
  transfer(bank, 10);
  transfer(bank, 5);
  assert(bank->a + bank->b == TOTAL);
  return 0;
}
