// What a data race does: both orders are run to the end of the program.
// check: -DPRINTS
// exit: 100
// finds: data-race `x`
// effect: output
// check: -DASSERTS
// exit: 100
// finds: data-race `x`
// effect: fails
// note: it fails if thread 1 comes first
// check: -DCRASHES
// exit: 100
// finds: data-race `cell`
// effect: fails
// check: -DKEEPS
// exit: 100
// finds: data-race `x`
// effect: state
// check: -DON_THE_HEAP
// exit: 100
// finds: data-race
// effect: state
// check: -DSAME
// exit: 100
// finds: data-race `x`
// effect: nothing
// check: -DSAME --model sc --races limited
// exit: 100
// finds: data-race `x`
// effect: nothing
// check: -DLOOKS
// exit: 100
// finds: data-race `x`
// effect: nothing
// check: -DPRINTS --fail-on race=output
// exit: 100
// check: -DPRINTS --fail-on warning,race=fails
// exit: 0
// finds: data-race `x`
// check: -DKEEPS --fail-on race=output
// exit: 0
// check: -DKEEPS --fail-on race=state
// exit: 100
// check: -DSAME --fail-on race=state
// exit: 0
// check: -DASSERTS --fail-on race=fails --checks data-races
// exit: 100
// finds: data-race `x`
// effect: fails
// check: -DPRINTS --fail-on race=sometimes
// exit: 2
// says: no effect of a data race `sometimes`
// check: -DBOTH
// exit: 100
// finds: data-race `x`
// effect: nothing
// check: -DFLAG
// exit: 100
// finds: data-race `x`
// note: what comes of it is not known
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int x, kept, y;
static volatile int flag;
static int *cell = &x;
static void *other(void *unused) {
#ifdef SAME
  x = 0;
#elif defined(CRASHES)
  x = 1;
  cell = 0;
#elif defined(BOTH)
  x = 0;
  printf("%d\n", y);
#elif defined(FLAG)
  x = 1;
  flag = 1;
#else
  *cell = 1;
#endif
  return unused;
}
int main(void) {
  pthread_t thread;
#ifdef ON_THE_HEAP
  cell = calloc(1, sizeof *cell);
#endif
  pthread_create(&thread, 0, other, 0);
#if defined(PRINTS)
  printf("%d\n", x);
#elif defined(ASSERTS)
  assert(x == 0);
#elif defined(CRASHES)
  if (x == 0)
    *cell = 0;
  else
    *cell = 1;
#elif defined(KEEPS)
  kept = x;
#elif defined(ON_THE_HEAP)
  int *seen = malloc(sizeof *seen);
  *seen = *cell;
#elif defined(SAME)
  x = 0;
#elif defined(BOTH)
  x = 0;
  y = 1;
#elif defined(FLAG)
  while (!flag)
    ;
  kept = x;
#else
  int seen = x;
  (void)seen;
  if (x == 2)
    kept = 1;
#endif
  pthread_join(thread, 0);
  return 0;
}
