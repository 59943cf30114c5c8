/* A client is told OK, and then the value becomes persistent: the power may fail in between. */
#include "server.h"

static void put(int client, const char *key, const char *value) {
  struct slot *slot = unused();
  if (find(key) || !slot) {
    reply(client, "NO\r\n");
    return;
  }
  strcpy(slot->value, value);
  strcpy(slot->key, key);
  lf_persist(slot, sizeof *slot);
  slot->used = 1; //~ used
  send(client, "OK\r\n", 4, MSG_NOSIGNAL); //~ told
  lf_persist(&slot->used, sizeof slot->used);
}
