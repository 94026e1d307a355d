/** What stands beside digits in languages that are not read otherwise, as it is written there. */

/** How large a number is, where the word says the same in every language that has it. */
export const SCALES_ELSEWHERE: Readonly<Record<number, string>> = {
  1e3: 'tusen tusind tuhat tuhatta þúsund tūkst tūkstotis tūkstoši tūkstantis tūkstančiai tūkstančių tysiąc tysiące tysięcy tys tisíc tisíce tis tisuća tisuće tisoč ezer mie mii bin nghìn ngàn ribu rb libo хил хиљ хиляди тысяча тысячи тысяч тыс тисяча тисячі тисяч тис хиљада хиљаде илјади χιλιάδα χιλιάδες ათასი ათ հզր հազար мың мянга אלף אלפים ألف ألفا آلاف الف هزار ہزار हज़ार हजार হাজার ਹਜ਼ਾਰ હજાર ஆயிரம் ಸಾವಿರ ആയിരം พัน ພັນ ពាន់',
  1e4: 'หมื่น',
  1e5: 'लाख লাখ লক্ষ ਲੱਖ લાખ لاکھ แสน ແສນ',
  1e6: 'miljon milljón milljónir milionu miljoner millioner miljoona miljoonaa miljonit miljons miljoni milijonas milijonai milijonų miliony milionów milionů milión milióny miliónov millió milioane milijun milijuna milijon milijona milijonov milyon milj milions triệu juta jt милион милиона милиони миллион миллиона миллионов млн мільйон мільйони мільйонів εκατομμύριο εκατομμύρια εκατ მილიონი միլիոն מיליון מיליוני مليون مليونا ملايين میلیون மில்லியன் మిలియన్ మిలియన్లు ሚሊዮን മില്യൺ ล้าน ລ້ານ លាន',
  1e7: 'करोड़ करोड कोटी কোটি ਕਰੋੜ કરોડ کروڑ',
  1e9: 'miljarder milliarder miljardi miljardia miljardit miljards miljardi milijardas milijardai milijardų miliardów miliarda milliárd miliarde milijarda milijardi milyar miliar tỷ अब्ज ارب பில்லியன் బిలియన్ బిలియన్లు ቢሊዮን mlrd mljrd ប៊ីលាន ຕື້ милиард милиарда милијарди миллиард миллиарда миллиардов млрд мільярд мільярди мільярдів δισεκατομμύριο δισεκατομμύρια δισ მილიარდი միլիարդ מיליארד مليار مليارا مليارات میلیارد',
}

/** Words of our languages too: `seit 2010 bin ich`, `3 mie amiche`. */
export const ALIKE_ELSEWHERE: ReadonlySet<string> = new Set(['bin', 'mie', 'rb', 'tis'])

/** Without their marks, and with no blank behind them, these may be other words. */
export const OPEN_ELSEWHERE = 'พัน หมื่น แสน ล้าน ร้อย ພັນ ແສນ ລ້ານ ពាន់ លាន ထောင် သောင်း သိန်း သန်း ကုဋေ వేయి వేలు ሺ હા হা ह'.split(' ')

/** How words of size begin that are not read, in whichever way they end. */
export const SIZES_ELSEWHERE =
  'bi bn bln tri bio bil billio billjon mr trilh trln трлн мил млд τρισ მლნ მლრდ ტრ մլն մլրդ տր տրիլ טריל ترليون تریلیون کھرب खरब खरव triliun miler millons billons duisend mjd miliwn biliwn triliwn mhile mhilliun bhilliun thrilliun milyard ming илјад илј милј mije mijë hiljad hilj અબજ ਅਰਬ ਖਰਬ ହଜାର දහස මිලියන බිලියන мян сая тэрбум миң ھزار ملين بلين dubu miliyan biliyan triliyan dausend milliounen мільен мільярд tûzen túsund milliuns milliardas ಮಿಲಿಯನ್ ಬಿಲಿಯನ್ ദശലക്ഷ ബില്യ ট্রিল tr cr lcr þ isigidi'.split(
    ' ',
  )

/** From one number to another. */
export const TO_ELSEWHERE =
  'do до till til az až έως ως עד إلى الى تا سے से থেকে den đến sampai hingga ถึง pana până ile ilâ'.split(' ')

/** Behind digits without a blank, and with more of the number behind them: `1億2000万`, `3만 5천`. */
export const EASTERN_SCALES: Readonly<Record<number, string>> = {
  10: '十拾십',
  100: '百佰백',
  1e3: '千仟천',
  1e4: '万萬만',
  1e8: '億亿억',
  1e12: '兆조',
}

export const EASTERN_DIGITS = [
  '〇零○',
  '一壱壹',
  '二弐貳贰两兩',
  '三参參叁',
  '四肆',
  '五伍',
  '六陸陆',
  '七柒',
  '八捌',
  '九玖',
]

/** What may stand right behind a scale of Korea: other words go on from its letters. */
export const BEHIND_HANGUL =
  '원 명 개 건 대 권 장 주 달러 엔 위안 유로 표 회 평 톤 을 를 은 는 이 가 의 에 도 만 천 억'.split(' ')

/** What is counted in signs: behind it they are a number. */
export const COUNT_SIGNS = '円 圓 圆 块 塊 元 人 名 個 个 枚 件 台 冊 册 張 张 隻 歳 岁 歲'.split(' ')

/** The year before their first. */
export const ERAS: Readonly<Record<string, number>> = {
  令和: 2018,
  平成: 1988,
  昭和: 1925,
  大正: 1911,
  民國: 1911,
  民国: 1911,
}
/** What tells days by the moon. */
export const LUNAR = ['農曆', '农历', '旧暦', '陰曆', '阴历', '陰暦', '음력']

/** January first, as days of them are written; without vowel marks, as `plain` has them, each is still one month alone. */
export const MONTHS_ELSEWHERE: readonly string[] = [
  'января січня януари јануар ιανουαρίου בינואר ינואר يناير جانفي ژانویه جنوری जनवरी জানুয়ারি มกราคม',
  'февраля лютого февруари фебруар φεβρουαρίου בפברואר פברואר فبراير فيفري شباط فوریه فروری फ़रवरी फरवरी ফেব্রুয়ারি กุมภาพันธ์',
  'марта березня март μαρτίου במרץ מרץ مارس آذار مارچ मार्च মার্চ มีนาคม',
  'апреля квітня април απριλίου באפריל אפריל أبريل إبريل أفريل نيسان آوریل اپریل अप्रैल এপ্রিল เมษายน',
  'мая травня май мај μαΐου במאי מאי مايو أيار मई พฤษภาคม',
  'июня червня юни јун ιουνίου ביוני יוני يونيو جوان حزيران ژوئن جون มิถุนายน',
  'июля липня юли јул ιουλίου ביולי יולי يوليو يوليوز جويلية تموز ژوئیه جولائی जुलाई জুলাই กรกฎาคม',
  'августа серпня август αυγούστου באוגוסט אוגוסט أغسطس غشت أوت آب اوت اگست अगस्त আগস্ট สิงหาคม',
  'сентября вересня септември септембар σεπτεμβρίου בספטמבר ספטמבר سبتمبر شتنبر أيلول سپتامبر ستمبر सितंबर सितम्बर সেপ্টেম্বর กันยายน',
  'октября жовтня октомври октобар οκτωβρίου באוקטובר אוקטובר أكتوبر اکتبر اکتوبر अक्टूबर অক্টোবর ตุลาคม',
  'ноября листопада ноември новембар νοεμβρίου בנובמבר נובמבר نوفمبر نونبر نوامبر نومبر नवंबर नवम्बर নভেম্বর พฤศจิกายน',
  'декабря грудня декември децембар δεκεμβρίου בדצמבר דצמבר ديسمبر دجنبر دسامبر دسمبر दिसंबर दिसम्बर ডিসেম্বর ธันวาคม',
]
/** Between a month and its year. */
export const OF_ELSEWHERE = ['พ.ศ.', 'ค.ศ.', 'سنة', 'عام']

/** Halves of the day, before a time or behind it; `later`: twelve may be midnight. */
export const HALVES_ELSEWHERE: Readonly<Record<'am' | 'pm' | 'later', string>> = {
  am: '午前 上午 凌晨 오전 صباحا ص π.μ. ب.ن',
  pm: '午後 下午 오후 مساء م μ.μ. د.ن',
  later:
    '晚上 傍晚 夜 저녁 밤 شام رات दोपहर शाम रात अपराह्न вечера дня пополудні אחה"צ בערב chiều tối pg ptg p.d. m.d. عصرا ظهرا ليلا ночи akşam gece sonra sore siang malam petang wieczorem południu nocy večer odpoledne seara ጥዋት ከሰዓት nachm siðdegis õosel öösel naktī naktį nakties nocy noci éjjel нощта ночі ноћу подне увече noću popodne μεσημ. απογ. ღამით ღამ. ნაშუადღევს საღ. գիշերվա գիշերը ցերեկվա ցերեկը түнгі түстен кейінгі кешкі בלילה לילה בצהריים צהריים ערב المساء شب دوپہر रात्र दुपार अपरान्ह साँझ बेलुकी দুপুর பிற்பகல் మధ్యాహ్నం နေ့လယ် ညနေ ည ຕອນບ່າຍ ຕອນແລງ กลางคืน đêm በሌሊት በምሽት arratsaldeko arrats iluntzeko gaueko nit ponoči popoldan zvečer zveč popol nag aand prynhawn hwyr i.n. axşam axşamüstü gündüz gecə kechasi kunduzi kechqurun ноќе попладне навечер pasdites mbrëmjes poslijepodne natten natt રાત્રે બપોરે સાંજે ਰਾਤ ਦੁਪਹਿਰੇ ਸ਼ਾਮ ಮಧ್ಯಾಹ್ನ හවස රෑ шөнө өдөр орой кечинде غ.و ntambama ebusuku yamma nomëttes подне podne',
}

/** How words begin that say the second half of the day, of languages that decline them. */
export const EVENINGS_ELSEWHERE =
  'вечер вечор следобед пополуд полудня απόγευμα βράδυ μεσημέρι odpoledn popoldne popoludn uvečer navečer večer wieczór délut kväll kveld kvöld aften eftermid etterm iltapäiv illal õhtu vakar pēcpusd popiet tarda vespre usiku jioni mchana hapon noaptea după-amia بعدازظهر عصر مغرب সন্ধ্যা রাত বিকাল বিকেল मध्याह्न संध्या இரவு மாலை రాత్రి సాయంత్రం ರಾತ್ರಿ ಸಂಜೆ രാത്രി വൈകുന്നേരം საღამო երեկո บ่าย เย็น ค่ำ เที่ยง หลังเที่ยง ល្ងាច យប់'.split(
    ' ',
  )
