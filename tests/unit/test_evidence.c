/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"
int main(void){return 0;}
