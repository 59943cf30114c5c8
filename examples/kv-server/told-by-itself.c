/* Without a client: the program says itself what it has promised, and asks after a power failure. */
#include <assert.h>
#include <landfall.h>
#include <stdio.h>

struct account {
  long balance;
};

int main(void) {
  struct account *account = lf_pm(sizeof *account);
  if (lf_acked("deposit"))
    assert(account->balance == 100); //~ fails
  if (lf_failures() == 0) {
    account->balance = 100; //~ stored
    puts("your money is safe");
    lf_ack("deposit"); //~ told
    lf_persist(account, sizeof *account);
  }
  return 0;
}
