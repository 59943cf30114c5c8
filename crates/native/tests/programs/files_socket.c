#include <sys/socket.h>
#include <sys/un.h>
int main(void) { struct sockaddr_un a = {AF_UNIX, "/tmp/landfall-test-socket"}; return bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a); }
