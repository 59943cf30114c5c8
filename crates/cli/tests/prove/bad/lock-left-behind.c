#include <assert.h>
#include <landfall.h>
#include <pthread.h>
struct memory { pthread_mutex_t mutex; _Alignas(64) long x; };
int main(void) {
  struct memory *m = lf_pm(sizeof *m);
  if (lf_failures() > 0) {
    pthread_mutex_lock(&m->mutex);
    assert(m->x <= 1);
    pthread_mutex_unlock(&m->mutex);
    return 0;
  }
  pthread_mutex_init(&m->mutex, NULL);
  lf_persist(m, sizeof *m);
  pthread_mutex_lock(&m->mutex);
  lf_persist(m, sizeof *m);
  m->x = 1;
  lf_persist(m, sizeof *m);
  pthread_mutex_unlock(&m->mutex);
  return 0;
}
