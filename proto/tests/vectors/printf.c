/* Prints numbers as the GNU C library does. Each line has the bits of a double, then %#.16g, %.16g, %#.8g and
 * %.6g.
   cc -o printf printf.c && ./printf > printf.tsv */
#include <stdio.h>
#include <stdint.h>
#include <string.h>
static void line(double v){uint64_t b;memcpy(&b,&v,8);printf("%016llx\t%#.16g\t%.16g\t%#.8g\t%.6g\n",(unsigned long long)b,v,v,v,v);}
int main(void){
  double fixed[]={0.0,-0.0,1,-1,0.1,1.0/3,250.5,1e15,1e16,1e-4,9.9999999999999995e-5,1e-5,123456.789,999999.5,9999995,99999995,0.5,2.5,1e300,5e-324,2.2250738585072014e-308,1.7976931348623157e308,4503599627370497.5,4503599627370496.5,2251799813685248.25,2251799813685249.75,1125899906842624.125,1125899906842624.375,0.000123456785,12345678.5,12345679.5,1234567.5,1.5e-7,100,1000,9007199254740993.0,1e22,1e23};
  for(unsigned i=0;i<sizeof fixed/sizeof*fixed;i++)line(fixed[i]);
  line(1.0/0.0);line(-1.0/0.0);line(0.0/0.0);line(-(0.0/0.0));
  uint64_t r=88172645463325252ULL;
  for(int i=0;i<400;i++){r^=r<<13;r^=r>>7;r^=r<<17;double v;
    if(i%4==0){memcpy(&v,&r,8);}
    else if(i%4==1){v=(double)(r>>20)/1e9;}            /* like clock readings */
    else if(i%4==2){v=(double)(r%2000000)/1024.0-900.0;} /* exact ties are likely here */
    else {v=(double)(int64_t)(r>>(r%40));}
    line(v);}
}
