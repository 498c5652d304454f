"""Writes XPath cases with the answers of lxml (libxml2), for tests/xpath.rs.

usage: xpath_cases.py SEED RANDOM_COUNT > cases.tsv

A line is either `document TAB xml`, or `case TAB document number TAB answer TAB expression`. The
answer is 0 or 1, the boolean value of the expression at <info>, or E for a malformed expression.
Cases in which libxml2 leaves the standard are left out. position() and last() have no value at the
context node of a whole expression (they are 1). Numbers may have an exponent, `id` knows xml:id,
and `a andb` and `/ /` are accepted.
"""

import random
import sys

from lxml import etree

FIELDS = (
    "<name>N</name><type>EEG</type><channel_count>3</channel_count><channel_format>float32</channel_format>"
    "<source_id>x</source_id><nominal_srate>250.5000000000000</nominal_srate><version>1.100000000000000</version>"
    "<created_at>5.000000000000000</created_at><uid>u</uid><session_id>default</session_id><hostname>h</hostname>"
)
DESCRIPTIONS = [
    '<channels><channel><label>C3</label><unit>uV</unit><n>1</n></channel><channel k="v"><label>C4</label><unit>uV</unit>'
    '<n>2.5</n></channel><channel k="w" j="7"><label>Cz</label><unit>mV</unit><n>-3</n></channel></channels><ref>Cz</ref><empty/>',
    '<a><a><b>1</b><a><b>2</b></a></a><b>3</b></a><b>x</b>t1<c> two  words </c>t2<c xml:lang="en-GB">hello</c>',
    "<m>pre<b>mid</b>post</m><n>10</n><n>9</n><n>nan</n><n></n><u>äöü€</u><v>12</v>",
    "",
]
DOCUMENTS = [f"<info>{FIELDS}<desc>{desc}</desc></info>" for desc in DESCRIPTIONS]

WRITTEN = """
name='N'|name="N"|name='n'|type='EEG' and channel_count > 2|channel_count>3|channel_count>=3|channel_count<3|channel_count<=3|channel_count!=3|3<channel_count
starts-with(name,'N')|contains(name,'B')|not(name='N')|name='x' or type='EEG'|name='x' and type='EEG' or 1|count(desc/channels/channel[unit='uV'])=2
count(desc/channels/channel)>3|string-length(name)=1|nominal_srate >= 250|nominal_srate=250.5|nominal_srate='250.5'|/info/name='N'|../info/name='N'|info/name='N'
desc|desc/*|desc/channels/channel[2]/label='C4'|desc/channels/channel[last()]/label='Cz'|desc/channels/channel[position()<3]/n=2.5|//channel[@k]|//channel[@k='w']/label
//channel[not(@k)]/label='C3'|//@j=7|//@*|@*|//channel[label=//ref]|//channel[n>2]|//channel[n<0]|sum(//n)=.5|sum(//n)|sum(//label)|count(//channel[1])
//channel[2]/preceding-sibling::channel/label='C3'|//channel[2]/following-sibling::*/label='Cz'|//label[.='Cz']/../unit='mV'|//label[.='Cz']/ancestor::desc
//label/ancestor-or-self::*[1]='C3'|(//label/ancestor::*)[1]/name='N'|(//label)[3]='Cz'|(//label)[last()]|(//label)[4]|//label[3]|//n[.=2.5]/following::n=-3
//n[.=2.5]/preceding::n=1|//channel[3]/preceding::label[1]='C4'|(//channel[3]/preceding::label)[1]='C3'|.|..|../..|/|/*|//*|/info|/desc|//text()|text()|node()|self::info|self::node()|self::desc
child::desc|child::*|descendant::b|descendant-or-self::info|attribute::*|parent::node()|parent::*|//b[2]|//b[.=2]|//a/b|//a//b=2|//a/a/b=1|//a[b][2]|(//a[b])[3]|count(//a)=3|count(//a//b)=3|count(//a|//b)=7
//b|//a|//zzz|name|//b|zzz|name()='info'|name(*)='name'|local-name(desc)='desc'|name(zzz)=''|namespace-uri()=''|string()|string(.)=string(/)|string(zzz)=''|string(1)='1'|string(1.50)='1.5'
string(1 div 0)='Infinity'|string(-1 div 0)='-Infinity'|string(0 div 0)='NaN'|string(true())='true'|string(-0)='0'|concat('a','b')='ab'|concat('a',1,true())='a1true'|substring('12345',2,3)='234'
substring('12345',2)='2345'|substring('12345',1.5,2.6)='234'|substring('12345',0,3)='12'|substring('12345',0 div 0,3)=''|substring('12345',1,0 div 0)=''|substring('12345',-42,1 div 0)='12345'
substring('12345',-1 div 0,1 div 0)=''|substring-before('1999/04/01','/')='1999'|substring-after('1999/04/01','/')='04/01'|substring-after('1999/04/01','19')='99/04/01'|substring-before('a','b')=''
substring-after('a','')='a'|contains('a','')|starts-with('a','')|contains('','a')|string-length('äöü')=3|string-length(//u)=4|substring(//u,4)='€'|translate('bar','abc','ABC')='BAr'
translate('--aaa--','abc-','ABC')='AAA'|translate(//u,'äö','ao')='aoü€'|normalize-space('  a  b ')='a b'|normalize-space(//c)='two words'|normalize-space()|number('1e3')=1000 and 0|number(' 12 ')=12|number('x')
number('')=0|number('-')|number('1 2')|number(true())=1|number()|floor(2.6)=2|floor(-2.5)=-3|ceiling(2.1)=3|ceiling(-2.5)=-2|round(2.5)=3|round(-2.5)=-2|round(2.4)=2|round(-0.2)=0|1 div round(-0.2) < 0
1+1=2|3-1=2|2*3=6|7 div 2=3.5|7 mod 2=1|-7 mod 2=-1|7 mod -2=1|1.5 mod 0.5=0|1 div 0 > 1000|--1=1|- - 1=1|-name|2 * -3 = -6|1-1|1 - - 1=2|1 + 2 * 3 = 7|(1 + 2) * 3 = 9|10 - 2 - 3 = 5|2 > 1 > 0|1 < 2 = 1|3 > 2 > 1|1=1=1
true()|false()|true()=1|true()='x'|false()=''|boolean('0')|boolean(0)|boolean(0 div 0)|boolean(zzz)|'0'|''|0|1|0.0|.5|5.|lang('en')|//c[lang('en')]|//c[lang('EN-gb')]|//c[lang('de')]
//n='9'|//n!='9'|//n=9|//n>9|//n<9|//n>=10|//n=//v|//n<//v|//n>//v|//n!=//n|zzz=zzz|zzz!=zzz|zzz=''|zzz=0|zzz=false()|name=true()|zzz!=true()|name<true()|zzz<true()|zzz<=false()|name>='a'|'10'<'9'|'a'<'b'|'a'='a'|'1'=1|'1.0'=1
//m='premidpost'|//m/text()='pre'|//m/text()[2]='post'|//m/node()[2]='mid'|//m[contains(.,'mid')]|//m[starts-with(text(),'pre')]|count(//m/text())=2|count(//m/node())=3|//n[not(text())]|//n[string-length()=0]|count(//n[.])=4
*[1]='N'|*[last()]|*[position()=2]='EEG'|*[2][1]='EEG'|*[true()][2]='EEG'|*[name()='type']='EEG'|*[self::type]|count(*)=12|count(*[starts-with(name(),'s')])=2|count(node())=12|count(.)=1|count(/)=1|count(..)=1|count(zzz)=0
and|or|and=1|div|*|* * *|* = *|desc/and|name and type|name or zzz|channel_count mod 2|channel_count div 3 = 1|channel_count*2=6|channel_count - 1 = 2|channel_count -1=2|channel_count-1
comment()|processing-instruction()|processing-instruction('x')|//comment()|//namespace::*=1 and 0|self::text()|desc/node()|id('x')/a
$x|name=|='N'|name=='N'|name='N|(name|name)|name]|[1]|name[|name[1|name[]|foo()|foo(name)|count()|count(1)|count('a')|count(name,type)|contains('a')|contains('a','b','c')|not()|not(1,2)|true(1)|concat('a')|substring('a')|sum(1)|name(1)
a:b:c|sideways::a|child::|@|@@a|///|//|name/|name//|name/[1]|name|/name||type|!name|name!type|name;type|name#|1 2|'a' 'b'|name type|(1)(2)|1/name|'a'/name|'a'[1]|1|'a'|..[1]|.[1]|...|.name|name.|-|+1|1+|1 +|*name|name*|()|,|name,type
"""


def written():
    for line in WRITTEN.strip().splitlines():
        # `|` is the union operator, too: joined halves are one more case.
        parts = [part for part in line.split("|") if part.strip()]
        yield from parts
        yield from (f"{left} | {right}" for left, right in zip(parts, parts[1:]) if left.startswith("//") and right.startswith("//"))


class Grammar:
    """Random expressions that mostly make sense."""

    NAMES = ["name", "type", "channel_count", "nominal_srate", "desc", "channel", "channels", "label", "n", "a", "b", "c", "m", "u", "*", "*", "unit", "info"]
    STRINGS = ["'N'", "'C3'", "'EEG'", "''", "' '", "'1'", "'uV'", "'x'", "'mid'", '"T"', "'Cz'"]
    NUMBERS = ["0", "1", "2", "3", "2.5", "100", ".5", "-1", "250.5", "10"]
    AXES = "child descendant descendant-or-self parent ancestor ancestor-or-self following following-sibling preceding preceding-sibling self attribute".split()
    COMPARISONS = ["=", "!=", "<", "<=", ">", ">="]

    def __init__(self, seed):
        self.random = random.Random(seed)

    def expression(self, depth):
        return self.random.choice([self.boolean, self.boolean, self.number, self.string, self.path, self.path])(depth)

    def step(self, depth):
        kind = self.random.random()
        if kind < 0.08:
            return ".."
        if kind < 0.14:
            return "."
        if kind < 0.2:
            return "@" + self.random.choice(["*", "k", "j"])
        axis = self.random.choice(self.AXES) + "::" if kind < 0.5 else ""
        step = axis + (self.random.choice(self.NAMES) if self.random.random() < 0.85 else self.random.choice(["node()", "text()"]))
        while depth > 0 and self.random.random() < 0.25:
            step += f"[{self.expression(depth - 1)}]"
        return step

    def path(self, depth):
        kind = self.random.random()
        path = ("" if kind < 0.6 else "/" if kind < 0.7 else "//") + self.step(depth)
        for _ in range(self.random.choice([0, 0, 1, 1, 2, 3])):
            path += self.random.choice(["/", "/", "//"]) + self.step(depth)
        if self.random.random() < 0.05:
            path = f"({path})[{self.expression(max(depth - 1, 0))}]"
        return f"{path} | {self.step(depth)}" if self.random.random() < 0.08 else path

    def text(self, depth):
        return self.string(depth) if self.random.random() < 0.5 else self.path(depth)

    def string(self, depth):
        if depth <= 0:
            return self.random.choice(self.STRINGS)
        literal = self.random.choice(self.STRINGS)
        inner = depth - 1
        return self.random.choice(
            [
                lambda: literal,
                lambda: f"string({self.expression(inner)})",
                lambda: f"concat({self.text(inner)},{self.text(inner)})",
                lambda: f"substring-before({self.text(inner)},{literal})",
                lambda: f"substring-after({self.text(inner)},{literal})",
                lambda: f"substring({self.text(inner)},{self.number(inner)})",
                lambda: f"substring({self.text(inner)},{self.number(inner)},{self.number(inner)})",
                lambda: f"normalize-space({self.text(inner)})",
                lambda: f"translate({self.text(inner)},'abcN','AB')",
                lambda: f"name({self.path(inner)})",
                lambda: f"local-name({self.path(inner)})",
                lambda: "string()",
            ]
        )()

    def number(self, depth):
        if depth <= 0:
            return self.random.choice(self.NUMBERS)
        inner = depth - 1
        return self.random.choice(
            [
                lambda: self.random.choice(self.NUMBERS),
                lambda: f"count({self.path(inner)})",
                lambda: f"sum({self.path(inner)})",
                lambda: f"string-length({self.string(inner)})",
                lambda: f"number({self.expression(inner)})",
                lambda: f"{self.random.choice(['floor', 'ceiling', 'round'])}({self.number(inner)})",
                lambda: f"{self.number(inner)} {self.random.choice(['+', '-', '*', 'div', 'mod'])} {self.number(inner)}",
                lambda: f"-{self.number(inner)}",
                lambda: "position()",
                lambda: "last()",
                lambda: f"({self.number(inner)})",
            ]
        )()

    def boolean(self, depth):
        if depth <= 0:
            return self.random.choice(["true()", "false()"])
        inner = depth - 1
        comparison = self.random.choice(self.COMPARISONS)
        return self.random.choice(
            [
                lambda: f"{self.expression(inner)} {comparison} {self.expression(inner)}",
                lambda: f"{self.path(inner)} {comparison} {self.random.choice([self.string, self.number, self.path])(inner)}",
                lambda: f"{self.expression(inner)} {self.random.choice(['and', 'or'])} {self.expression(inner)}",
                lambda: f"not({self.expression(inner)})",
                lambda: f"boolean({self.expression(inner)})",
                lambda: f"starts-with({self.string(inner)},{self.random.choice(self.STRINGS)})",
                lambda: f"contains({self.path(inner)},{self.random.choice(self.STRINGS)})",
                lambda: "lang('en')",
                lambda: f"({self.expression(inner)})",
            ]
        )()


def answer(tree, expression):
    try:
        compiled = etree.XPath(f"boolean({expression})")
    except etree.XPathSyntaxError:
        return "E"
    try:
        return "1" if compiled(tree) else "0"
    except etree.XPathError:
        # libxml2 finds wrong functions, argument counts, types and variables only now; and refuses position() outside of a predicate.
        return None if "position()" in expression or "last()" in expression else "E"


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    trees = [etree.fromstring(document) for document in DOCUMENTS]
    for document in DOCUMENTS:
        print("document", document, sep="\t")
    grammar = Grammar(seed)
    cases = [(number, expression) for expression in written() for number in range(len(trees))]
    cases += [(grammar.random.randrange(len(trees)), grammar.expression(grammar.random.choice([1, 2, 2, 3]))) for _ in range(count)]
    seen = set()
    for number, expression in cases:
        value = answer(trees[number], expression)
        # A malformed expression is so for every document, and most written ones are told apart by one or two documents.
        key = (expression, value)
        if value is None or key in seen or len(expression) > 300:
            continue
        seen.add(key)
        print("case", number, value, expression, sep="\t")


main()
