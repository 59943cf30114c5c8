/* Makes its pool, grows it and maps it; the power may fail in between, and recovery then does the rest. */
#include <fcntl.h>
#include <landfall.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int file = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
  if (file < 0 || ftruncate(file, 4096) != 0)
    return 1;
  long *pool = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED)
    return 2;
  if (pool[8] && pool[0] != 1)
    return 3;
  pool[0] = 1;
  lf_persist(pool, 8);
  pool[8] = 1;
  lf_persist(pool + 8, 8);
  return 0;
}
