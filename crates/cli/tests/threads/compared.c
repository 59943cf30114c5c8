// Other ways to search find the same: each schedule by itself, or every image, whatever recovery reads of it.
// check: --checks crash
// exit: 100
// finds: assertion `p->data == 1` is false
// check: --checks crash --no-share
// exit: 100
// finds: assertion `p->data == 1` is false
// check: --checks crash --eager
// exit: 100
// finds: assertion `p->data == 1` is false
// check: --checks crash --eager --failures 2 --model sc
// exit: 100
// finds: assertion `p->data == 1` is false
// check: --checks crash --eager -DHELP
// exit: 0
// check: --checks crash --no-share -DHELP --failures 2
// exit: 0
// check: --count-eager
// exit: 2
// says: --count-eager is not for such programs
// check: --no-prefix
// exit: 2
// says: --no-prefix is not for such programs
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
static struct pm {
  _Alignas(64) _Atomic long data;
  _Alignas(64) _Atomic long flag;
  _Alignas(64) _Atomic long nobody;
} *p;
static void *writer(void *unused) {
  p->nobody = 1;
  p->data = 1;
  return unused;
}
static void *speaker(void *unused) {
  if (p->data == 1) {
#ifdef HELP
    lf_persist((void *)&p->data, 8);
#endif
    p->flag = 1;
  }
  return unused;
}
int main(void) {
  p = lf_pm(sizeof *p);
  if (lf_failures()) {
    if (p->flag) assert(p->data == 1);
    return 0;
  }
  pthread_t a, b;
  pthread_create(&a, 0, writer, 0);
  pthread_create(&b, 0, speaker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
