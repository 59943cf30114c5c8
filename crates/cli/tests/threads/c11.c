// C11's own names for it.
// check:
// exit: 0
// check: -DBROKEN
// exit: 100
// finds: assertion seen == 1
#include <assert.h>
#include <threads.h>

static mtx_t mutex;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int ready, made;

static void make(void) {
  made++;
}

static int work(void *unused) {
  (void)unused;
  call_once(&once, make);
  tss_set(key, &made);
  mtx_lock(&mutex);
#ifdef BROKEN
  if (!ready)
    cnd_timedwait(&changed, &mutex, &(struct timespec){.tv_sec = 1});
#else
  while (!ready)
    cnd_wait(&changed, &mutex);
#endif
  int seen = ready;
  mtx_unlock(&mutex);
  assert(seen == 1);
  return tss_get(key) == &made ? 5 : 6;
}

int main(void) {
  mtx_init(&mutex, mtx_plain);
  cnd_init(&changed);
  tss_create(&key, NULL);
  thrd_t worker;
  thrd_create(&worker, work, NULL);
  call_once(&once, make);
  mtx_lock(&mutex);
  ready = 1;
  cnd_signal(&changed);
  mtx_unlock(&mutex);
  int code;
  thrd_join(worker, &code);
  assert(code == 5 && made == 1);
}
