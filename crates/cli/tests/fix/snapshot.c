// A transaction of its own, a log of two entries: what is missing is the line that adds the length, in the words of the file.
// exit: 0
// says: checked again: the check is clean
#include <assert.h>
#include <landfall.h>
#include <string.h>
struct entry {
  _Alignas(64) size_t bytes; /* 0: nothing to undo */
  size_t at;
  char before[16];
};
struct file {
  struct entry log[2];
  _Alignas(64) char name[16];
  _Alignas(64) size_t length;
};
static void add(struct file *file, void *p, size_t n) {
  struct entry *entry = &file->log[file->log[0].bytes != 0];
  lf_tx_add(entry, sizeof *entry);
  memcpy(entry->before, p, n);
  entry->at = (char *)p - (char *)file;
  lf_persist(entry, sizeof *entry);
  entry->bytes = n;
  lf_persist(&entry->bytes, sizeof entry->bytes);
  lf_tx_add(p, n);
}
int main(void) {
  struct file *file = lf_pm(sizeof *file);
  if (lf_failures()) {
    for (int i = 0; i < 2; i++)
      if (file->log[0].bytes && file->log[i].bytes)
        memcpy((char *)file + file->log[i].at, file->log[i].before, file->log[i].bytes);
    assert(strlen(file->name) == file->length);
    return 0;
  }
  lf_tx_begin();
  add(file, file->name, sizeof file->name);
  strcpy(file->name, "landfall");
  file->length = 8;
  lf_persist(file->name, sizeof file->name);
  lf_persist(&file->length, sizeof file->length);
  file->log[0].bytes = 0;
  lf_persist(&file->log[0].bytes, sizeof file->log[0].bytes);
  lf_tx_end();
  return 0;
}
