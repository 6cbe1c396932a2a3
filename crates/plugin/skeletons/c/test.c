/* Tests of mine.c, which run natively. */
#include "mine.c"
#include <assert.h>
#include <stdio.h>

int main(void) {
    exm.initial_window = 10;
    on_start();
    assert(exm.cwnd == 10);
    exm.now = 100000000;
    exm.acked = 1;
    on_ack();
    assert(exm.cwnd == 11);
    exm.kind = EXM_LOST;
    on_congestion();
    assert(exm.cwnd == 5);
    on_congestion(); /* once a round trip */
    assert(exm.cwnd == 5);
    puts("ok");
    return 0;
}
