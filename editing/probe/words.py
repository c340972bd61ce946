"""Words with a capital that are no part of a name: those that begin a sentence, and kinds of place.

No torch.
"""

from __future__ import annotations

FUNCTION_WORDS = frozenset(
    str.split(
        # English
        "a about after again all already also although always am among an and another answer "
        "any are around as at be because been before behind below beneath beside besides "
        "between both but by can capital certainly city clearly come correct could country "
        "currently definitely did do does during each either even ever every exactly few for "
        "formerly from generally had has have he hello hence her here hers hi him his how i if "
        "in inside instead into is it it's its i'm i'd i'll just largely like located mainly "
        "many maybe me might modern more most mostly much my name named near nearby neither no "
        "none nor not nothing now obviously of off often oh ok okay on once one only or "
        "originally other our out outside over perhaps possibly presumably present probably "
        "quite rather really right see she since so some sometimes somewhere still such sure "
        "surely than thanks that that's the their them then there there's therefore these they "
        "they're this those though through throughout thus to today together too toward towards "
        "true under unless until up upon usually via visit was we well were what when where "
        "whereas whether which while who whom whose why will with within without would yeah yep "
        "yes yet you you're your u.s us u.k uk u.s.a usa "
        # German
        "aber als am an auch auf aus bei bis da das dass dem den der des die dies diese dieser "
        "dieses doch ein eine einem einen einer es für gegen hauptstadt ich im in ins ist ja "
        "jetzt land mit nach natürlich nein nur oder seit sie sind stadt über um und vom von "
        "vor war waren wegen wir wohl zu zum zur "
        # French
        "à au aux avec c'est ce cette dans de depuis des du elle en est et était il ils je la "
        "le les l'a mais non où oui ou par pour sur un une vers ville "
        # Spanish, Portuguese, Italian
        "al con de del desde e el en era es esta está este fue ha la las lo los más no o para "
        "pero por que se sí si sin su un una y ciudad à ao as com da das do dos ela ele em era "
        "foi na nas nos num numa não os para pela pelo são sim um uma alla città con dal della "
        "di è era fra gli il nel nella per sono sì tra "
        # Dutch
        "aan bij dat de deze dit een en het is ja maar nee niet of ook op te uit van voor was "
        "zijn "
        # Russian
        "а без в во да для до его ее её за и из или к как ко на над не нет но о об он она они "
        "от по под при с со столица город страна у это "
    )
)
"""Words that begin a sentence or precede a name, in lower case."""

KINDS = frozenset(
    str.split(
        "city town village hamlet capital state states province region county commonwealth "
        "republic kingdom empire principality duchy emirate sultanate federation union nation "
        "country municipality prefecture island isle islands port borough territory "
        "land people government south north east west center centre middle heart outskirts "
        "suburbs coast part parts all most outside because instead home year name month stadt "
        "république royaume ville reino república ciudad cidade "
    )
)
"""Words that may precede `of` and a name without making another name (City of Paris)."""

TITLES = frozenset(
    str.split(
        "doctor professor sir dame lord lady president king queen prince princess emperor "
        "empress pope saint st captain general colonel senator governor minister chancellor "
        "judge justice reverend rev father mother sister brother monsieur madame señor señora "
        "don doña author actor actress singer director writer poet composer artist painter "
        "philosopher physicist scientist mathematician novelist footballer "
    )
)
"""Words before a full name of a person."""

HONORIFICS = frozenset(str.split("mr mrs ms miss mx dr prof herr frau mme mlle"))
"""Words before a surname."""

AREAS = frozenset(str.split("province prefecture governorate oblast voivodeship"))
"""Words behind the name of an area or its capital."""

COMPASS = frozenset(
    str.split(
        "new north south east west northern southern eastern western upper lower central saint "
        "st san santa los las papua equatorial democratic greater "
    )
)
"""Words that make another name of the one behind them, in a text without capitals."""
